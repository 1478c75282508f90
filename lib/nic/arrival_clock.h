// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "core/time.h"

namespace lw::nic {

/// When the frames of a port arrived, by the machine's steady clock, from the kernel's stamps
/// (CLOCK_REALTIME, which may step). An arrival is held between the moment at which the port's ring
/// was last seen empty and the moment at which the frame was taken, and never decreases. One
/// thread.
class ArrivalClock {
 public:
  /// A frame whose stamp was held by more than this: the clock has stepped, or the stamp is none.
  static constexpr Duration kStepped = std::chrono::milliseconds(1);

  /// Returns the arrivals of the frames that were taken at `now`, when CLOCK_REALTIME was
  /// `wall_ns`. Valid until the next call.
  std::span<const Instant> arrivals_of(std::span<const std::int64_t> stamps, Instant now,
                                       std::int64_t wall_ns) {
    arrivals_.resize(stamps.size());
    for (std::size_t i = 0; i < stamps.size(); ++i) {
      const Instant stamped = now - Duration{wall_ns - stamps[i]};
      const Instant held = std::clamp(stamped, std::min(earliest_, now), now);
      stepped_ += held - stamped > kStepped || stamped - held > kStepped;
      arrivals_[i] = earliest_ = held;
    }
    return arrivals_;
  }
  /// The ring was empty at `now`: later frames arrive after it.
  void seen_empty(Instant now) noexcept { earliest_ = std::max(earliest_, now); }

  /// No later frame arrives before it.
  [[nodiscard]] Instant earliest() const noexcept { return earliest_; }
  /// Frames whose stamps were held by more than kStepped.
  [[nodiscard]] std::uint64_t stepped() const noexcept { return stepped_; }

 private:
  std::vector<Instant> arrivals_;
  Instant earliest_{};
  std::uint64_t stepped_ = 0;
};

/// Two clocks at one moment: as exact as a reading of a clock takes, about 25 ns.
struct BothClocks {
  Instant now;
  std::int64_t wall_ns;

  /// Reads them. A reading that was interrupted is repeated twice at most.
  static BothClocks read() noexcept;
};

}  // namespace lw::nic
