// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/figure.h"
#include "dissect/explain/questions/question.h"

namespace lw::dissect {

/// "Was it congestion?"
struct CongestionVerdict {
  enum class Answer : std::uint8_t { yes, no, cannot_tell };
  Answer answer{};
  std::string reason;  // a sentence
  std::uint64_t marked = 0, notifications = 0, lost = 0, resent = 0, pauses = 0;
  Duration paused{};  // time in which pauses stopped packets, as far as their ends were captured

  static const FigureTable& figures();
};
std::string_view name_of(CongestionVerdict::Answer answer) noexcept;  // "cannot tell"

/// Answers from CE marks, CNPs, pause frames, trimmed packets, losses and retransmissions together,
/// and from the counters of a port.
CongestionVerdict congestion_of(const Facts& facts);

/// Was it congestion?
Answer ask_congestion(const Facts& facts);

}  // namespace lw::dissect
