// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/anomaly.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// Joins the packets of one direction, in the order of their PSNs, into messages.
class MessageBuilder {
 public:
  MessageBuilder(Results& results, std::uint32_t session, std::uint8_t direction)
      : results_(results), session_(session), direction_(direction) {}

  /// Adds the next packet or gap. `completion`: that of the message, if the packet is its last.
  void add(const Sent& sent, const std::optional<Message::Completion>& completion);
  /// Reports a message whose last packet was not seen.
  void finish();

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }

 private:
  void begin(const Sent& sent, const wire::OpcodeInfo& info);
  void extend(const Sent& sent);
  void report(const std::optional<Message::Completion>& completion);

  Results& results_;
  std::uint32_t session_;
  std::uint8_t direction_;
  std::optional<Message> open_;
  std::uint64_t messages_ = 0;
};

}  // namespace lw::analysis
