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
/// Parses a size up to kLargestSize; returns whole bytes. Units B, kB, KB, MB, GB (decimal), KiB,
/// MiB, GiB (binary). Error: also a bare K, M or G, which may mean either.
Parsed<std::uint64_t> parse_bytes(std::string_view text);
/// Parses a size of perftest's -s, in which a bare K, M or G is binary.
Parsed<std::uint64_t> parse_message_size(std::string_view text);
/// Parses a length in m or km, from 0 to kLongestFibre; returns km.
Parsed<double> parse_kilometres(std::string_view text);
/// Parses a share in [0, 1]: "0.1%", "1e-3", "0". Error: also another plain number, 0.1 or 1, which
/// may mean 0.1 % or 10 %: "0.1: write 0.1% or 10%".
Parsed<double> parse_probability(std::string_view text);

// Numbers for people: three or four significant digits and a unit. Files and --json have all
// digits.

/// Returns a measured time, "1.904 ms", in the largest unit in which the number is at least 1.
std::string format_duration(Duration duration);
/// Returns a time that somebody set, "1.9035 ms", with up to 10 digits.
std::string format_set_duration(Duration duration);
/// Returns "98.04 Gb/s", "948.0 Mb/s".
std::string format_bit_rate(double bits_per_second);
/// Returns "23.75 MB", "948.0 kB", with a decimal prefix; whole bytes below 1000 B.
std::string format_bytes(double bytes);
/// Returns "464,560".
std::string format_count(std::uint64_t count);
/// Returns "464,560 frames", "1 frame".
std::string format_count(std::uint64_t count, std::string_view noun);
/// Returns "45.4 %" for 0.454; only 0 and 1 are "0 %" and "100 %".
std::string format_share(double share);
/// Returns "45.4 %" for 454 of 1000; "0 %" of none.
std::string format_share(std::uint64_t part, std::uint64_t whole);
/// Returns a number without a unit: a whole one as format_count() does, others with 4 digits;
/// "none" if it is not finite.
std::string format_number(double number);

}  // namespace lw
