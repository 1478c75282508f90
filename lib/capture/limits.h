// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

namespace lw::capture {

/// Most words of a filter: names, numbers, addresses and operators such as `or`. libpcap's time
/// rises with the square of their number: 512 words take it up to 0.7 s.
inline constexpr std::size_t kMostFilterWords = 512;
/// Longest filter, in bytes: 512 words, each with a bracket, a sign and spaces.
inline constexpr std::size_t kLongestFilter = std::size_t{16} << 10;
/// Longest program that libpcap optimizes, in instructions: its optimizer's time rises with the
/// cube of the length, to 0.3 s here. A longer program runs as it is.
inline constexpr std::size_t kMostOptimized = 4'000;

/// Most comments that `roce-dissect annotate` adds to a frame.
inline constexpr std::size_t kMostComments = 8;
/// Longest of them, in bytes.
inline constexpr std::size_t kLongestComment = 2'048;

}  // namespace lw::capture
