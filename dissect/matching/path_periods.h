// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/figure.h"

namespace lw::dissect {

/// A time in which many packets of a direction were delayed, or came behind later ones.
struct PathPeriod {
  enum class Kind : std::uint8_t { queueing, reordering };

  Kind kind{};
  bool goes_far = true;
  std::int64_t begin_ns = 0, end_ns = 0;  // of its first and last packet, where they were sent
  std::uint64_t packets = 0;              // that were delayed, or late
  std::uint32_t first_frame = 0;          // the first of them, where it was sent
  std::int64_t most_ns = 0;               // queueing: the longest delay, above the usual one

  /// "120 packets of 150 ms waited, up to 350 us above the usual delay".
  [[nodiscard]] std::string words() const;
  static const FigureTable& figures();
};
std::string_view name_of(PathPeriod::Kind kind) noexcept;  // "queueing", "reordering"

/// Packets in their order, from `begin` up to `end`, of which `marked` are.
struct MarkedRun {
  std::size_t begin = 0, end = 0;
  std::uint64_t marked = 0;
};

/// Runs of marked packets, with at most kMostBetween others between two of them: at least
/// kPeriodFewest, and so many that independent marks, as frequent as those outside of such runs,
/// show them in one of 10,000 captures.
std::vector<MarkedRun> marked_runs(const std::vector<bool>& marks);
inline constexpr std::size_t kMostBetween = 2, kPeriodFewest = 8, kMostPeriods = 1000;

/// Marks the packets that waited: their delays (ns, in the order of the packets, without drift and
/// steps) are above the first quartile by eight times its distance from the first tenth, and by 1
/// us and four times the resolution of the stamps. `usual`: the first quartile.
std::vector<bool> marks_of_waiting(std::span<const double> delays, double resolution_ns,
                                   double& usual);

/// Periods of one kind and direction, as texts show them: the longest, in the order of time, and
/// how many others there are.
struct PeriodGroup {
  static constexpr std::size_t kShown = 5;

  PathPeriod::Kind kind{};
  bool goes_far = true;
  std::vector<PathPeriod> longest = {};  // by packets, kShown at most
  std::uint64_t others = 0, packets_of_others = 0;

  /// "138 more, of 2,345 packets"; empty if there are no others.
  [[nodiscard]] std::string others_text() const;
};
/// Groups without a period are left out.
std::vector<PeriodGroup> groups_of(const std::vector<PathPeriod>& periods);

}  // namespace lw::dissect
