// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "analysis/anomaly.h"
#include "analysis/requests/message_rate.h"
#include "analysis/requests/sent_log.h"

namespace lw::analysis {

/// Joins the packets of one direction, in the order of their PSNs, into messages. Opcodes show
/// where one begins and ends. Where packets are missing, the length in the RETH of a WRITE shows
/// it; of SENDs, that all before had the same length.
class MessageBuilder {
 public:
  /// `mtu`: of the path, in bytes; 0: unknown.
  MessageBuilder(Results& results, std::uint32_t session, std::uint8_t direction, std::uint32_t mtu)
      : results_(results), session_(session), direction_(direction), mtu_(mtu) {}
  /// Learns the path MTU, in bytes; 0: unknown.
  void learn(std::uint32_t mtu) noexcept { mtu_ = mtu; }

  /// Adds the next packet or gap. `completion`: that of the message, if the packet is its last. UC
  /// and UD receivers drop a message with a gap: it is not completed.
  void add(const Sent& sent, const std::optional<Message::Completion>& completion);
  /// Reports a message whose last packet was not seen.
  void finish();

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] const MessageRate& rate() const noexcept { return rate_; }

 private:
  void begin(const Sent& sent, const wire::OpcodeInfo& info);
  void extend(const Sent& sent);
  void end_within(const Sent& gap);
  void report(const std::optional<Message::Completion>& completion);
  [[nodiscard]] std::uint32_t packets_of(const Sent& first) const noexcept;

  Results& results_;
  std::uint32_t session_;
  std::uint8_t direction_;
  std::uint32_t mtu_;
  std::optional<Message> open_;
  std::uint32_t expected_ = 0;  // packets of the open message; 0: nothing tells
  std::uint32_t usual_ = 0;     // packets of each SEND so far; 0: none was whole, or they differ
  bool unlike_ = false;         // SENDs have several lengths
  std::uint64_t messages_ = 0;
  MessageRate rate_;
};

}  // namespace lw::analysis
