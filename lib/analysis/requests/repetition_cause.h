// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/requests/stream_state.h"
#include "analysis/requests/wrong_answers.h"

namespace lw::analysis {

/// Why a packet that was seen before comes again.
struct RepetitionCause {
  std::optional<Cause> cause = {};  // nothing: the path copied it, or what follows tells
  /// The frame that asked for it (a NAK, or the one that showed a gap), or that it was in first; 0:
  /// none.
  std::uint64_t related = 0;
  Duration silence{};  // before it
};

/// Finds why a packet comes that was seen before: `sent`, which may be a part of `known`. The NAK
/// that it answers counts as used from now on. `known`: its entry in the log; null: none.
/// `selective`: its sender repeats single packets. `refused`: the newest requests with a wrong
/// answer; nothing: there are none.
[[nodiscard]] RepetitionCause cause_of_repetition(StreamState& state, bool selective,
                                                  const std::optional<Refused>& refused,
                                                  const CapturedPacket& packet, const Sent& sent,
                                                  const Sent* known);
/// Returns the NAK that a packet answers, though it has another PSN; null: none, so a timer sent
/// it.
[[nodiscard]] const Nak* nak_in_place_of_timer(StreamState& state, const CapturedPacket& packet,
                                               const Sent& sent) noexcept;

}  // namespace lw::analysis
