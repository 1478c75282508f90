// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace lw::gen {

/// A time of 64 bits of nanoseconds and 64 bits of their fraction.
__extension__ using FineTime = unsigned __int128;

constexpr std::int64_t whole_ns(FineTime time) noexcept {
  return static_cast<std::int64_t>(time >> 64);
}

/// Not negative.
constexpr FineTime fine(std::chrono::nanoseconds time) noexcept {
  return FineTime{static_cast<std::uint64_t>(time.count())} << 64;
}

/// The longest that a pacer counts: 200 years. What would be later is due then.
inline constexpr std::int64_t kLongestNs = std::int64_t{200} * 365 * 86400 * 1'000'000'000;
inline constexpr FineTime kLongest = FineTime{kLongestNs} << 64;

/// 1e9 / rate, rounded up at the 2^-64th of a nanosecond, so that i of them never come out below a
/// whole nanosecond that they exactly are: floor(i * step) = floor(i * 1e9 / rate) as long as i is
/// below 2^64 / rate. At most kLongest. rate > 0, finite.
inline FineTime pacing_step(double rate) noexcept {
  constexpr int kMantissa = 53;
  int exponent = 0;
  const double fraction = std::frexp(rate, &exponent);  // rate = fraction * 2^exponent
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(fraction, kMantissa));
  // A long division, bit by bit: 1e9 / mantissa * 2^(53 - exponent), 64 bits behind the point.
  const int bits = kMantissa - exponent + 64;
  std::uint64_t rest = 1'000'000'000;  // below the mantissa, which is at least 2^52
  FineTime step = 0;
  for (int i = 0; i < bits; ++i) {
    rest <<= 1;
    step = step << 1 | (rest >= mantissa ? 1 : 0);
    if (rest >= mantissa) rest -= mantissa;
    if (step >= kLongest) return kLongest;
  }
  return step + (rest != 0 ? 1 : 0);
}

/// step * count, at most kLongest.
inline FineTime pacing_time(FineTime step, std::uint64_t count) noexcept {
  constexpr FineTime kSure = FineTime{1} << 46 << 64;  // no product with 16 bits exceeds
  if (step < kSure && count < 1 << 16) [[likely]]
    return step * count;
  FineTime product;
  return __builtin_mul_overflow(step, FineTime{count}, &product) || product > kLongest ? kLongest
                                                                                       : product;
}

}  // namespace lw::gen
