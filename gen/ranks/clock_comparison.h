// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"

namespace lw::gen {

/// How far another clock is from this one.
struct ClockDifference {
  Duration ahead{0};  // the other clock minus this one
  Duration bound{0};  // `ahead` is wrong by at most this
  std::uint32_t round_trips = 0;
};

/// Compares two clocks by round trips: this side reads its clock, the other side answers with its
/// own, this side reads its clock again. The answer was read between the two readings, so half of
/// the round trip bounds the error, whatever the two ways take. The shortest round trip counts
/// (RFC 5905, 10: of several samples, the one with the least delay).
class ClockComparison {
 public:
  void add(Instant sent, Instant theirs, Instant received) noexcept;
  [[nodiscard]] const ClockDifference& result() const noexcept { return result_; }

 private:
  Duration shortest_ = Duration::max();
  ClockDifference result_;
};

}  // namespace lw::gen
