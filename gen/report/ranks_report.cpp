// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/ranks_report.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/table.h"

namespace lw::gen {
namespace {

Duration magnitude(Duration time) noexcept { return time < Duration{0} ? -time : time; }

std::string rows_text(const std::vector<RankRow>& ranks) {
  using report::Align;
  report::Table table({{"rank", Align::right},
                       {"host", Align::left},
                       {"clock ahead", Align::right},
                       {"at most wrong by", Align::right},
                       {"started late", Align::right},
                       {"sent", Align::right},
                       {"rate", Align::right},
                       {"not sent", Align::right},
                       {"received", Align::right},
                       {"lost", Align::right}});
  for (const RankRow& row : ranks) {
    if (!row.reported) {
      table.add_row({fmt::to_string(row.rank), row.host, "no results", "", "", "", "", "", ""});
      continue;
    }
    table.add_row({fmt::to_string(row.rank), row.host, format_duration(row.clock_ahead),
                   format_duration(row.clock_bound), format_duration(row.late),
                   fmt::to_string(row.sent.frames),
                   format_bit_rate(row.sent.achieved(config::Rate::Unit::wire_bits)),
                   fmt::to_string(row.sent.not_sent),
                   row.received ? fmt::to_string(row.received->frames) : "-",
                   row.received ? fmt::to_string(row.lost) : "-"});
  }
  return table.to_string();
}

/// Largest error of a one-way delay between two ranks.
Duration delay_bound(const std::vector<RankRow>& ranks) {
  Duration largest{0}, second{0};
  for (const RankRow& row : ranks) {
    const Duration bound = row.stamp_bound();
    second = std::max(second, std::min(bound, largest));
    largest = std::max(largest, bound);
  }
  return largest + second;
}

}  // namespace

Duration RankRow::stamp_bound() const noexcept {
  const Duration at_start = clock_bound + (corrected ? Duration{0} : magnitude(clock_ahead));
  if (!end_ahead || !end_bound) return at_start;
  return std::max(at_start, magnitude(*end_ahead) + *end_bound);
}

CommonStart start_of(const std::vector<RankRow>& ranks, Duration most, const std::string& clock) {
  CommonStart start{.skew = {}, .bound = {}, .most = most, .clock = clock};
  const RankRow *first = nullptr, *last = nullptr;
  for (const RankRow& row : ranks) {
    if (!row.reported) continue;
    if (first == nullptr || row.late < first->late) first = &row;
    if (last == nullptr || row.late > last->late) last = &row;
  }
  if (first == nullptr) return start;
  start.skew = last->late - first->late;
  start.bound = delay_bound(ranks);
  return start;
}

std::string RanksSummary::text() const {
  std::string text = rows_text(ranks);
  text += fmt::format("the ranks started within {}, wrong by at most {}, by {}\n",
                      format_duration(start.skew), format_duration(start.bound), start.clock);
  return text + whole.text();
}

const FigureTable& RankRow::figures() {
  using Row = FigureOf<RankRow>;
  static constexpr Figure kRows[] = {
      Row::of<&RankRow::rank>("rank", "Number of the rank."),
      Row::of<&RankRow::host>("host", "Name of its [[host]], or of its machine."),
      Row::of<&RankRow::machine>("machine", "Name of its machine."),
      Row::of<&RankRow::ports>("ports", "Ports that it sends to."),
      Row::of<&RankRow::receive>("receive", "Ports at which it measures."),
      Row::of<&RankRow::reported>("reported", "True if its results are there; false if it died."),
      Row::of<&RankRow::clock_ahead>("clock_ahead_ns",
                                     "Its clock minus that of rank 0, before the start.", Unit::ns),
      Row::of<&RankRow::clock_bound>("clock_bound_ns", "Largest error of this difference.",
                                     Unit::ns),
      Row::of<&RankRow::corrected>("clock_corrected",
                                   "True if the difference was taken off its time stamps."),
      Row::of<&RankRow::end_ahead>(
          "end_ahead_ns", "Its clock, as corrected, minus that of rank 0, after the run.", Unit::ns)
          .or_null(),
      Row::of<&RankRow::end_bound>("end_bound_ns", "Largest error of this difference.", Unit::ns)
          .or_null(),
      Row::of<&RankRow::stamp_bound>(
          "stamp_bound_ns", "Largest error of its time stamps, compared with rank 0's.", Unit::ns),
      Row::of<&RankRow::late>("late_ns", "Its start, after the agreed instant.", Unit::ns),
      Row::of<&RankRow::sent>("sent", "What it sent."),
      Row::of<&RankRow::received>("received", "What came to it, if it measures.").if_any(),
      Row::of<&RankRow::lost>("lost", "Frames missing in what it received, by sequence numbers.",
                              Unit::frames)};
  static constexpr FigureTable kTable{"One rank of a common run.", kRows};
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

const FigureTable& RanksSummary::figures() {
  using Row = FigureOf<RanksSummary>;
  static constexpr Figure kRows[] = {
      Row::rows_of<[](const RanksSummary& s) -> const auto& { return s.whole; }>(),
      Row::of<[](const RanksSummary& s) -> const auto& { return s.start; }>(
          "start", "When the ranks started."),
      Row::of<[](const RanksSummary& s) -> const auto& { return s.ranks; }>(
          "ranks", "The ranks, by number.")};
  static constexpr FigureTable kTable{"Report of a common run of several ranks.", kRows};
  return kTable;
}

const FigureTable& RankReport::figures() {
  using Report = RankReport;
  using Row = FigureOf<Report>;
  static constexpr Figure kRows[] = {
      Row::of<&Report::rank>("rank", "Number of the rank."),
      Row::of<&Report::host>("host", "Name of its [[host]], or of its machine."),
      Row::of<[](const Report& r) { return r.sent.run; }>("run",
                                                          "Number of the run in the signatures."),
      Row::of<[](const Report& r) { return r.sent.elapsed; }>("elapsed_ns", "Duration.", Unit::ns),
      Row::of<[](const Report& r) { return r.sent.started_late; }>(
          "late_ns", "Its start, after the agreed instant.", Unit::ns),
      Row::rows_of<[](const Report& r) { return r.sent.total(); }>(),
      Row::of<[](const Report& r) { return sent_flows(r.sent, r.profile); }>(
          "flows", "What it sent, by flow."),
      Row::of<[](const Report& r) -> std::optional<ReturnedFrames> {
        if (r.received == nullptr) return std::nullopt;
        return ReturnedFrames{r.received->totals(), flow_rows(*r.received, r.names, {})};
      }>("received", "What came to it, if it measures.")
          .if_any()};
  static constexpr FigureTable kTable{"Report of one rank of a common run.", kRows};
  return kTable;
}

}  // namespace lw::gen
