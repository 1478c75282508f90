// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "analysis/findings/facts.h"
#include "wire/psn.h"

namespace lw::analysis {

/// Learns from requests alone whether their sender goes back: it then repeats all packets in a row,
/// up to its newest one.
///
/// A path delays few packets in a row, and a sender that repeats single packets repeats as many as
/// were lost. So runs of kMany packets count, and shorter ones that end with the newest packet.
class RepeatedRuns {
 public:
  /// Whether a run of repeated packets has begun, so that a new packet ends it.
  [[nodiscard]] bool is_open() const noexcept { return packets_ > 0; }
  /// Adds a request with the PSNs from `psn` to the one before `end`. `highest`: the highest PSN of
  /// the requests before it.
  void add(std::uint32_t psn, std::uint32_t end, std::uint32_t highest) noexcept {
    const bool is_new = wire::Psn::distance(wire::Psn{highest}, wire::Psn{psn}) > 0;
    const bool goes_on = packets_ > 0 && psn == next_;
    if (is_new || !goes_on) end_run(goes_on);
    if (is_new) return;
    ++packets_;
    next_ = end;
  }
  [[nodiscard]] RecoveryScheme scheme() const noexcept {
    constexpr std::uint32_t kWeight = 4, kEnough = 2;
    return back_ >= kEnough && back_ > kWeight * alone_ ? RecoveryScheme::go_back_n
                                                        : RecoveryScheme::unknown;
  }

 private:
  void end_run(bool up_to_newest) noexcept {
    constexpr std::uint32_t kMany = 8, kFew = 3;
    if (packets_ >= (up_to_newest ? kFew : kMany))
      ++back_;
    else if (packets_ > 0 && !up_to_newest)
      ++alone_;
    packets_ = 0;
  }

  std::uint32_t packets_ = 0;  // of the run
  std::uint32_t next_ = 0;     // one past its newest PSN
  std::uint32_t back_ = 0, alone_ = 0;
};

}  // namespace lw::analysis
