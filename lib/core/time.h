// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

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

/// `later - earlier`, or the largest or smallest time where that is not one: stamps of damaged
/// captures are any numbers. The result has an opposite.
constexpr Duration stamp_difference(Instant later, Instant earlier) noexcept {
  std::int64_t ns = 0;
  if (__builtin_sub_overflow(to_ns(later), to_ns(earlier), &ns))
    return later < earlier ? -Duration::max() : Duration::max();
  return std::max(Duration{ns}, -Duration::max());
}

/// Identifies the machine's boot, since which its steady clock runs; empty: unknown.
std::string boot_id();
/// A number from `first` to 255 for the steady clock since a boot, which most other boots and
/// machines don't have.
std::uint8_t steady_clock_number(std::uint8_t first, std::string_view boot) noexcept;

}  // namespace lw
