// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "core/time.h"

namespace lw {

/// Numbers with units, as people type them: "1903.5us", "100Gb/s", "64KiB", "380km", "0.1%".
/// The error is one sentence: what was expected, what was found.
template <class T>
using Parsed = std::expected<T, std::string>;

/// ns, us, ms, s, min; >= 0, to the nanosecond, at most 292 years.
Parsed<Duration> parse_duration(std::string_view text);
/// b/s, kb/s, Mb/s, Gb/s, Tb/s (also bps, kbit/s, ...; a lone K/M/G/T means bits a second);
/// decimal multiples, > 0.
Parsed<double> parse_bit_rate(std::string_view text);
/// B, kB, MB, GB (decimal), KiB, MiB, GiB (binary); a lone K/M/G is binary, as perftest and
/// qemu read it. A whole number of bytes.
Parsed<std::uint64_t> parse_bytes(std::string_view text);
/// m, km; result in km, >= 0.
Parsed<double> parse_kilometres(std::string_view text);
/// "0.1%", "1e-3", "0.001": a probability in [0, 1].
Parsed<double> parse_probability(std::string_view text);

/// "1.9035 ms": the largest unit that keeps the number >= 1, every digit that is there.
std::string format_duration(Duration duration);
/// "98.04 Gb/s", two decimals.
std::string format_bit_rate(double bits_per_second);
/// "23.75 MB", decimal, two decimals; whole below 1000 B.
std::string format_bytes(double bytes);

}  // namespace lw
