// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace lw {

using Duration = std::chrono::nanoseconds;

/// The clock of the caller of a module: a port loop, a capture's stamps, or a simulation. It has no
/// now(), because modules such as transport and emulator get the time as a parameter.
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
