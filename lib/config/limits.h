// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace lw::config {

// The largest profiles that the programs read. core/limits.h has the limits of single quantities.

/// Largest profile, or file that a profile names, in bytes: 16 MiB, a trace of 500,000 rows.
inline constexpr std::size_t kMostProfileBytes = std::size_t{16} << 20;
/// Deepest nesting: tables, arrays and parts of dotted keys within each other. Profiles need seven.
inline constexpr std::size_t kDeepestProfile = 32;
/// Most keys and array items of a profile: each needs about 300 bytes while it is read.
inline constexpr std::size_t kMostProfileItems = 1'000'000;
/// Most [[tables]] of one name: 50,000 rules are read in 2 s.
inline constexpr std::size_t kMostTables = 50'000;
/// Most QPs of all [[flow]]s.
inline constexpr std::uint32_t kMostQps = 1'048'576;
/// Most pairs of a PSN and an occurrence of all [[event]]s, and of one.
inline constexpr std::uint64_t kMostEvents = 262'144;
inline constexpr std::uint64_t kMostOfAnEvent = 65'536;
/// Most steps of all [[at]], [[protection]] and [[flap]]: each is checked with the whole profile.
inline constexpr std::size_t kMostSteps = 10'000;
/// Most words of the filters of all [[rule]]s; capture/limits.h has those of one filter.
inline constexpr std::size_t kMostFilterWords = 2'048;
/// Most combinations of the parameters' values of a [[scenario]]: each is a run.
inline constexpr std::size_t kMostCells = 100'000;
/// Most errors of a profile that one run reports.
inline constexpr std::size_t kMostErrors = 100;
/// Most files that a profile includes, and how deep they may include each other.
inline constexpr std::size_t kMostFiles = 64;
inline constexpr std::size_t kDeepestInclude = 8;

}  // namespace lw::config
