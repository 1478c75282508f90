// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace lw {

using Duration = std::chrono::nanoseconds;

/// The clock of whoever drives an engine: DPDK's loop, a capture's stamps, a simulation.
/// It has no now(): nothing in transport/ or path/ may read a clock, they are told the time.
struct EngineClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<EngineClock, duration>;
  static constexpr bool is_steady = true;
};

using Instant = EngineClock::time_point;

constexpr Instant instant_from_ns(std::int64_t ns) noexcept { return Instant{Duration{ns}}; }
constexpr std::int64_t to_ns(Instant t) noexcept { return t.time_since_epoch().count(); }

}  // namespace lw
