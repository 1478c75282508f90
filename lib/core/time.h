// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace lw {

using Duration = std::chrono::nanoseconds;

/// The clock of a module's caller: that of a port loop, of a capture's stamps, or of a simulation.
/// It has no now(): modules such as transport and emulator get the time as a parameter.
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

/// Returns `later - earlier`, limited to -Duration::max() .. Duration::max(): the stamps of damaged
/// captures may be any numbers. The result can always be negated.
constexpr Duration stamp_difference(Instant later, Instant earlier) noexcept {
  std::int64_t ns = 0;
  if (__builtin_sub_overflow(to_ns(later), to_ns(earlier), &ns))
    return later < earlier ? -Duration::max() : Duration::max();
  return std::max(Duration{ns}, -Duration::max());
}
/// Of two stamps in ns, the same difference in ns.
constexpr std::int64_t stamp_difference(std::int64_t later, std::int64_t earlier) noexcept {
  return stamp_difference(instant_from_ns(later), instant_from_ns(earlier)).count();
}

/// Returns an identifier of the machine's current boot, at which its steady clock started; empty if
/// unknown.
std::string boot_id();
/// Returns a number from `first` to 255 that identifies the steady clock of a boot. Other boots and
/// machines mostly have other numbers.
std::uint8_t steady_clock_number(std::uint8_t first, std::string_view boot) noexcept;

}  // namespace lw
