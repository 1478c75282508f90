// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>

#include "core/time.h"

namespace lw::nic {

/// Converts between times of the steady clock and ticks of a device's clock. The rates of the
/// clocks differ, so both are read together at intervals.
class DeviceClock {
 public:
  /// Reads the device's clock, in ticks; nothing if it can't be read.
  using Read = std::function<std::optional<std::uint64_t>()>;
  using Steady = std::function<Instant()>;
  /// `steady`: the clock of the times.
  DeviceClock(Read device, Steady steady)
      : device_(std::move(device)), steady_(std::move(steady)) {}

  /// Measures the device's tick rate with two readings, `apart` from each other. False: the
  /// device's clock can't be read or doesn't advance.
  bool start(Duration apart);
  /// Reads both clocks again, at most every 0.1 s: in that time they drift by less than 50 ns if
  /// the slew changes by 500 ppm.
  void follow(Instant now);
  /// The device's tick at time `at`.
  [[nodiscard]] std::uint64_t tick_at(Instant at) const noexcept {
    const auto ns = static_cast<double>((at - anchor_.at).count());
    return anchor_.tick + static_cast<std::uint64_t>(static_cast<std::int64_t>(ns * ticks_per_ns_));
  }
  /// When the device's clock showed `tick`.
  [[nodiscard]] Instant time_of(std::uint64_t tick) const noexcept {
    const auto ticks = static_cast<double>(static_cast<std::int64_t>(tick - anchor_.tick));
    return anchor_.at + Duration{std::llround(ticks / ticks_per_ns_)};
  }
  /// How far off a time may be: half of what the last reading of both clocks took.
  [[nodiscard]] Duration uncertainty() const noexcept { return anchor_.uncertainty; }

 private:
  struct Reading {
    Instant at{};
    std::uint64_t tick = 0;
    Duration uncertainty{};
  };
  /// Reads the device's clock between two readings of the steady clock. Returns the mean of these
  /// with the tick.
  [[nodiscard]] std::optional<Reading> read() const;
  bool advance_to(const Reading& reading) noexcept;

  Read device_;
  Steady steady_;
  Reading anchor_;
  double ticks_per_ns_ = 0;
};

}  // namespace lw::nic
