// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/path_periods.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "core/time.h"

namespace lw::dissect {
namespace {

constexpr double kPeriodFalseRate = 1e-4;

/// All runs, however short.
std::vector<MarkedRun> all_runs(const std::vector<bool>& marks) {
  std::vector<MarkedRun> runs;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    if (!marks[i]) continue;
    if (runs.empty() || i - runs.back().end > kMostBetween) runs.push_back({i, i, 0});
    runs.back().end = i + 1;
    ++runs.back().marked;
  }
  return runs;
}

}  // namespace

std::vector<MarkedRun> marked_runs(const std::vector<bool>& marks) {
  std::vector<MarkedRun> runs = all_runs(marks);
  std::uint64_t alone = 0;  // marks outside of long runs
  for (const MarkedRun& run : runs)
    if (run.marked < kPeriodFewest) alone += run.marked;
  const auto count = static_cast<double>(marks.size());
  const double share = (static_cast<double>(alone) + 1) / count;
  // That one of the next packets is marked.
  const double next = 1 - std::pow(1 - std::min(share, 1.0), kMostBetween + 1);
  std::erase_if(runs, [&](const MarkedRun& run) {
    return run.marked < kPeriodFewest ||
           count * std::pow(next, static_cast<double>(run.marked - 1)) > kPeriodFalseRate;
  });
  if (runs.size() > kMostPeriods) runs.resize(kMostPeriods);
  return runs;
}

std::vector<bool> marks_of_waiting(std::span<const double> delays, double resolution_ns,
                                   double& usual) {
  std::vector<bool> marks(delays.size());
  if (delays.size() < 2 * kPeriodFewest) return marks;
  std::vector<double> sorted(delays.begin(), delays.end());
  const auto quantile = [&](std::size_t tenths_of_quarter) {
    const auto at =
        sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() * tenths_of_quarter / 40);
    std::ranges::nth_element(sorted, at);
    return *at;
  };
  usual = quantile(10);
  const double least = std::max(1000.0, 4 * resolution_ns);
  const double limit = usual + std::max(8 * (usual - quantile(4)), least);
  for (std::size_t i = 0; i < delays.size(); ++i) marks[i] = delays[i] > limit;
  return marks;
}

std::string_view name_of(PathPeriod::Kind kind) noexcept {
  return kind == PathPeriod::Kind::queueing ? "queueing" : "reordering";
}

std::string PathPeriod::words() const {
  const std::string length = format_duration(Duration{stamp_difference(end_ns, begin_ns)});
  if (kind == Kind::reordering)
    return fmt::format("{} of {} came behind later ones of their flows", counted(packets, "packet"),
                       length);
  return fmt::format("{} of {} waited, up to {} above the usual delay", counted(packets, "packet"),
                     length, format_duration(Duration{most_ns}));
}

const FigureTable& PathPeriod::figures() {
  using Row = FigureOf<PathPeriod>;
  static constexpr std::string_view kKinds[] = {"queueing", "reordering"};
  static constexpr Figure kRows[] = {
      Row::of<[](const PathPeriod& p) { return name_of(p.kind); }>("kind", "What it is.")
          .among(kKinds),
      Row::of<[](const PathPeriod& p) {
        return std::string_view(p.goes_far ? "near_to_far" : "far_to_near");
      }>("direction", "Direction."),
      Row::of<&PathPeriod::begin_ns>(
          "begin_ns", "Stamp of its first packet, where it was sent, since 1970.", Unit::ns),
      Row::of<&PathPeriod::end_ns>("end_ns", "Stamp of its last packet, there.", Unit::ns),
      Row::of<&PathPeriod::packets>("packets", "Packets that waited, or were late.", Unit::frames),
      Row::of<&PathPeriod::first_frame>("first_frame",
                                        "Number of the first of them, where it was sent."),
      Row::of<&PathPeriod::most_ns>(
          "most_ns", "Longest delay above the usual one; 0: of late packets.", Unit::ns),
      Row::of<&PathPeriod::words>("text", "A sentence about it.")};
  static constexpr FigureTable kTable{"A time of queueing, or of late packets.", kRows};
  return kTable;
}

std::string PeriodGroup::others_text() const {
  if (others == 0) return {};
  return fmt::format("{} more, of {}", format_count(others),
                     format_count(packets_of_others, "packet"));
}

std::vector<PeriodGroup> groups_of(const std::vector<PathPeriod>& periods) {
  std::vector<PeriodGroup> groups;
  for (const auto kind : {PathPeriod::Kind::queueing, PathPeriod::Kind::reordering})
    for (const bool goes_far : {true, false}) {
      PeriodGroup group{.kind = kind, .goes_far = goes_far};
      std::ranges::copy_if(periods, std::back_inserter(group.longest), [&](const auto& period) {
        return period.kind == kind && period.goes_far == goes_far;
      });
      if (group.longest.empty()) continue;
      std::ranges::stable_sort(group.longest, std::greater{}, &PathPeriod::packets);
      while (group.longest.size() > PeriodGroup::kShown) {
        ++group.others;
        group.packets_of_others += group.longest.back().packets;
        group.longest.pop_back();
      }
      std::ranges::sort(group.longest, {}, &PathPeriod::begin_ns);
      groups.push_back(std::move(group));
    }
  return groups;
}

}  // namespace lw::dissect
