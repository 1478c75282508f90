// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "core/time.h"

namespace lw {

/// Result of parsing a number with a unit: "1903.5us", "100Gb/s", "64KiB", "380km", "0.1%".
/// The error is one sentence: what was expected and what was found.
template <class T>
using Parsed = std::expected<T, std::string>;

/// Parses a time in ns, us, ms, s or min, or "0"; from 0 to kLongestTime (core/limits.h), rounded
/// to a nanosecond.
Parsed<Duration> parse_duration(std::string_view text);
/// Parses a bit rate from kLowestRate to kHighestRate; returns bits per second. Units b/s, kb/s,
/// Mb/s, Gb/s, Tb/s, also bps, kbit/s, kbit and so on; K, M, G, T alone mean bits per second.
/// Prefixes are decimal.
Parsed<double> parse_bit_rate(std::string_view text);
/// Parses a size up to kLargestSize; returns whole bytes. Units B, kB, MB, GB (decimal), KiB,
/// MiB, GiB (binary); K, M, G alone are binary, as in perftest and qemu.
Parsed<std::uint64_t> parse_bytes(std::string_view text);
/// Parses a length in m or km, from 0 to kLongestFibre; returns km.
Parsed<double> parse_kilometres(std::string_view text);
/// Parses a probability in [0, 1]: "0.1%", "1e-3", "0.001".
Parsed<double> parse_probability(std::string_view text);

/// Returns "1.9035 ms": in the largest unit in which the number is at least 1, with up to 10
/// digits.
std::string format_duration(Duration duration);
/// Returns "98.04 Gb/s": with two decimals.
std::string format_bit_rate(double bits_per_second);
/// Returns "23.75 MB": decimal prefix, two decimals; whole bytes below 1000 B.
std::string format_bytes(double bytes);

}  // namespace lw
