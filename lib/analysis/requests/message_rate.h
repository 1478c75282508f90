// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/requests/sent_log.h"
#include "wire/psn.h"

namespace lw::analysis {

/// How many messages a number of PSNs are, also where most packets were not captured: by the
/// responder's counts of messages in two answers, or by the lengths that READs and WRITEs name.
class MessageRate {
 public:
  /// Notes the first packet of a message that takes `span` PSNs.
  void add_message(std::uint32_t span) noexcept {
    ++messages_;
    spans_ += span;
  }
  /// An answer: one past the PSNs that it acknowledges, and the messages that they complete.
  struct Answer {
    Sequence end = 0;
    std::uint32_t msn = 0;
  };
  /// Messages in `psns` PSNs, by two answers, or else by the lengths; nothing: neither tells.
  [[nodiscard]] std::optional<double> messages_in(std::uint64_t psns, const Answer& first,
                                                  const Answer& last) const noexcept {
    const auto all = static_cast<double>(psns);
    const auto counted = wire::Psn::distance(wire::Psn{first.msn}, wire::Psn{last.msn});
    if (last.end > first.end && counted > 0)
      return all * counted / static_cast<double>(last.end - first.end);
    if (spans_ == 0) return std::nullopt;
    return all * static_cast<double>(messages_) / static_cast<double>(spans_);
  }

 private:
  std::uint64_t messages_ = 0, spans_ = 0;
};

}  // namespace lw::analysis
