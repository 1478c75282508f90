// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/ranks_report.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "report/table.h"

namespace lw::gen {
namespace {

std::string rows_text(const std::vector<RankRow>& ranks) {
  using report::Align;
  report::TextTable table({{"rank", Align::right},
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
    if (!row.timing.reported) {
      table.add_row({fmt::to_string(row.rank), row.host, "no results", "", "", "", "", "", ""});
      continue;
    }
    table.add_row(
        {fmt::to_string(row.rank), row.host, format_duration(row.timing.clock.before.ahead),
         format_duration(row.timing.clock.before.bound), format_duration(row.timing.late),
         fmt::to_string(row.sent.frames),
         format_bit_rate(row.sent.achieved(config::Rate::Unit::wire_bits)),
         fmt::to_string(row.sent.not_sent), row.received ? fmt::to_string(row.received->roce) : "-",
         row.received ? fmt::to_string(row.lost) : "-"});
  }
  return table.to_string();
}

}  // namespace

void observe_ranks(Judge& judge, const std::vector<RankRow>& ranks,
                   const std::vector<std::string>& broken) {
  judge.add({.name = "ranks",
             .value = static_cast<double>(broken.size()),
             .text = broken.empty()
                         ? fmt::format("{} started together", counted(ranks.size(), "rank"))
                         : fmt::format("{}", fmt::join(broken, "; ")),
             .count = ranks.size()});
}

std::string RanksSummary::text() const {
  std::string text = rows_text(ranks);
  text += fmt::format("{}, by {}\n", start.text(), clock);
  for (const RankRow& row : ranks)
    if (row.missed > 0)
      text += fmt::format(
          "rank {} ({}): {} frames came and were lost before they were read: flows seem to have "
          "lost "
          "them\n",
          row.rank, row.host, row.missed);
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
      Row::rows_of<&RankRow::timing>(),
      Row::of<&RankRow::sent>("sent", "What it sent."),
      Row::of<&RankRow::received>("received", "What came to it, if it measures.").if_any(),
      Row::of<&RankRow::missed>("missed", "Frames that its ports dropped before they were read.",
                                Unit::frames),
      Row::of<&RankRow::lost>("lost", "Frames missing in what it received, by sequence numbers.",
                              Unit::frames)};
  static constexpr FigureTable kTable{"One rank of a common run.", kRows};
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
      Row::of<[](const Report& r) { return r.sent.missed; }>(
          "missed", "Frames that its ports dropped before they were read.", Unit::frames),
      Row::of<[](const Report& r) -> std::optional<ReturnedFrames> {
        if (r.received == nullptr) return std::nullopt;
        return ReturnedFrames{r.received->totals(), flow_rows(*r.received, r.names, {})};
      }>("received", "What came to it, if it measures.")
          .if_any()};
  static constexpr FigureTable kTable{"Report of one rank of a common run.", kRows};
  return kTable;
}

}  // namespace lw::gen
