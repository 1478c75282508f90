// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lw::impair {

/// Longest time for which a client's change is prepared, in seconds: a profile of 10,000 rules
/// takes one to two, and ten on a busy machine. What takes longer is refused, and changes nothing.
inline constexpr std::chrono::seconds kLongestPreparation = std::chrono::seconds(20);

/// Most steps of commands that wait to take effect, beside those of the scenario.
inline constexpr std::size_t kMostCommandSteps = 10'000;

/// Longest time ahead of which a client's event or scenario may begin, in hours: it has its place
/// among the steps that wait until then.
inline constexpr std::chrono::hours kLongestAhead = std::chrono::hours(24);

/// A step that is due has taken effect at most this time later, or the run fails, in milliseconds:
/// a busy machine may stop a thread for a part of it.
inline constexpr std::chrono::milliseconds kLatestStep = std::chrono::milliseconds(100);

/// Most pause frames that the queues of a replay send: those of seven minutes of pauses without a
/// break at 400 Gb/s.
inline constexpr std::uint64_t kMostPauseFrames = 10'000'000;

}  // namespace lw::impair
