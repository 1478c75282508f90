// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lw {

// The largest quantities that a profile, a file or an option may hold. A sum of a hundred of them
// fits in 64 bits; a key may have a smaller limit.

/// Longest time, in hours: a year of 365 days, longer than any run or path.
inline constexpr auto kLongestTime = std::chrono::hours(8'760);
/// Highest bit rate, in bits per second: 1 Pb/s, a thousand times the fastest port.
inline constexpr std::uint64_t kHighestRate = 1'000'000'000'000'000;
/// Lowest bit rate, in bits per second: at a lower one a frame takes days.
inline constexpr std::uint64_t kLowestRate = 1;
/// Largest size, in bytes: 1 PiB, more than any memory.
inline constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 50;
/// Longest part of a simulated job's iteration: computing, the overhead of a step, the start of a
/// message in a trace.
inline constexpr auto kLongestJobPart = std::chrono::hours(1);
/// Longest message, in bytes: RDMA's own limit, 2 GiB.
inline constexpr std::uint64_t kMostMessage = std::uint64_t{1} << 31;
/// Longest fibre, in km: over twice the distance of the Moon, 5 s of one-way delay.
inline constexpr std::uint64_t kLongestFibre = 1'000'000;

/// Longest wait for the next bytes of a profile that is a pipe or a device; standard input has no
/// limit.
inline constexpr auto kLongestInputWait = std::chrono::seconds(10);
/// Smallest size of a capture's files in turn (--rotate), in bytes: a smaller one would mostly make
/// files.
inline constexpr std::uint64_t kSmallestFileInTurn = 64'000;
/// Most files in turn that are kept (--ring): a folder with more is slow to list.
inline constexpr std::uint64_t kMostFilesInTurn = 100'000;
/// Longest text of a name or value that an error message repeats, in bytes.
inline constexpr std::size_t kLongestQuote = 80;
/// Longest error message about a value of a profile or its files, in bytes, without its position.
inline constexpr std::size_t kLongestMessage = 1'000;
/// Deepest nesting of arrays and objects in JSON that is read: the reports have five levels.
inline constexpr std::size_t kDeepestJson = 32;

}  // namespace lw
