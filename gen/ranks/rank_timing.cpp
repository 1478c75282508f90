// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/rank_timing.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::gen {
namespace {

Duration magnitude(Duration time) noexcept { return time < Duration{0} ? -time : time; }

/// Largest error of the difference between the clocks of two ranks.
Duration largest_error(std::span<const RankTiming> ranks) {
  Duration largest{0}, second{0};
  for (const RankTiming& rank : ranks) {
    const Duration bound = rank.stamp_bound();
    second = std::max(second, std::min(bound, largest));
    largest = std::max(largest, bound);
  }
  return largest + second;
}

}  // namespace

Duration RankTiming::stamp_bound() const noexcept {
  const Duration at_start =
      clock.before.bound + (clock.corrected ? Duration{0} : magnitude(clock.before.ahead));
  if (clock.after.round_trips == 0) return at_start;
  return std::max(at_start, magnitude(clock.after.ahead) + clock.after.bound);
}

CommonStart start_of(std::span<const RankTiming> ranks, Duration most) {
  CommonStart start{.skew = {}, .bound = {}, .most = most};
  const RankTiming *first = nullptr, *last = nullptr;
  for (const RankTiming& rank : ranks) {
    if (!rank.reported) continue;
    if (first == nullptr || rank.late < first->late) first = &rank;
    if (last == nullptr || rank.late > last->late) last = &rank;
  }
  if (first == nullptr) return start;
  start.skew = last->late - first->late;
  start.bound = largest_error(ranks);
  return start;
}

std::string CommonStart::text() const {
  return fmt::format("the ranks started within {}, wrong by at most {}", format_duration(skew),
                     format_duration(bound));
}

std::string CommonStart::refusal() const {
  return fmt::format(
      "the ranks started within {}, and their clocks may differ by {} more: --start-skew allows {}",
      format_duration(skew), format_duration(bound), format_duration(most));
}

const FigureTable& RankTiming::figures() {
  using Timing = RankTiming;
  using Row = FigureOf<Timing>;
  static constexpr Figure kRows[] = {
      Row::of<&Timing::reported>("reported", "True if its results are there; false if it died."),
      Row::of<[](const Timing& t) { return t.clock.before.ahead; }>(
          "clock_ahead_ns", "Its clock minus that of rank 0, before the start.", Unit::ns),
      Row::of<[](const Timing& t) { return t.clock.before.bound; }>(
          "clock_bound_ns", "Largest error of this difference.", Unit::ns),
      Row::of<[](const Timing& t) { return t.clock.corrected; }>(
          "clock_corrected", "True if the difference was taken off its time stamps."),
      Row::of<[](const Timing& t) -> std::optional<Duration> {
        if (t.clock.after.round_trips == 0) return std::nullopt;
        return t.clock.after.ahead;
      }>("end_ahead_ns", "Its clock, as corrected, minus that of rank 0, after the run.", Unit::ns)
          .or_null(),
      Row::of<[](const Timing& t) -> std::optional<Duration> {
        if (t.clock.after.round_trips == 0) return std::nullopt;
        return t.clock.after.bound;
      }>("end_bound_ns", "Largest error of this difference.", Unit::ns)
          .or_null(),
      Row::of<&Timing::stamp_bound>(
          "stamp_bound_ns", "Largest error of its time stamps, compared with rank 0's.", Unit::ns),
      Row::of<&Timing::late>("late_ns", "Its start, after the agreed instant.", Unit::ns)};
  static constexpr FigureTable kTable{"Clock and start of one rank.", kRows};
  return kTable;
}

const FigureTable& CommonStart::figures() {
  using Row = FigureOf<CommonStart>;
  static constexpr Figure kRows[] = {
      Row::of<&CommonStart::skew>("skew_ns", "Time from the first rank's start to the last one's.",
                                  Unit::ns),
      Row::of<&CommonStart::bound>("bound_ns", "By how much the skew may be larger.", Unit::ns),
      Row::of<&CommonStart::most>("most_ns", "Largest skew that is allowed, with the bound.",
                                  Unit::ns),
      Row::of<&CommonStart::holds>("holds", "True if skew and bound are within it.")};
  static constexpr FigureTable kTable{"When the ranks started.", kRows};
  return kTable;
}

}  // namespace lw::gen
