// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_ranks.h"

#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.h"
#include "core/json.h"
#include "core/machine_questions.h"
#include "core/quantity.h"
#include "report/figures/json.h"
#include "report/figures/read_json.h"
#include "report/table.h"

namespace lw::gen {
namespace {

/// The part of a PerfRankRow that the rank itself measured.
struct PerfRankPart {
  Duration late{};
  PerfRankSums sums;
  Machine machine;
  static const FigureTable& figures();
};

std::string size_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

std::string PerfRankRow::part() const {
  return report::json_line(report::json_of(PerfRankPart{timing.late, sums, own}));
}

Result<void> PerfRankRow::read(std::string_view part) {
  PerfRankPart found;
  if (const auto read = report::read_json(parse_json(part), found); !read)
    return fail("its results can't be read: " + read.error(), ExitCode::failed);
  timing.late = found.late;
  timing.reported = true;
  sums = found.sums;
  own = of_host(std::move(found.machine), host);
  return {};
}

std::uint64_t PerfRanksSummary::messages() const noexcept {
  std::uint64_t sum = 0;
  for (const PerfRankRow& row : ranks) sum += row.sums.messages;
  return sum;
}

std::uint64_t PerfRanksSummary::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const PerfRankRow& row : ranks) sum += row.sums.bytes;
  return sum;
}

double PerfRanksSummary::total_bps() const noexcept {
  double sum = 0;
  for (const PerfRankRow& row : ranks) sum += row.sums.average_bps;
  return sum;
}

double PerfRanksSummary::fairness() const noexcept {
  double sum = 0, squares = 0, count = 0;
  for (const PerfRankRow& row : ranks) {
    if (row.sums.messages == 0) continue;
    sum += row.sums.average_bps;
    squares += row.sums.average_bps * row.sums.average_bps;
    ++count;
  }
  return squares > 0 ? sum * sum / (count * squares) : 0;
}

std::string PerfRanksSummary::text() const {
  using report::Align;
  std::vector<report::TextTable::Column> columns = {
      {"rank", Align::right}, {"host", Align::left}, {"address", Align::left}};
  for (const char* title : {"started late", "messages", "sent", "BW average", "retransmitted",
                            "connections", "received", "wrong"})
    columns.push_back({title, Align::right});
  report::TextTable table(std::move(columns));
  for (const PerfRankRow& row : ranks) {
    if (!row.timing.reported) {
      table.add_row({fmt::to_string(row.rank), row.host, row.address, "no results", "", "", "", "",
                     "", "", ""});
      continue;
    }
    table.add_row({fmt::to_string(row.rank), row.host, row.address,
                   format_duration(row.timing.late), fmt::to_string(row.sums.messages),
                   size_text(row.sums.bytes), format_bit_rate(row.sums.average_bps),
                   fmt::to_string(row.sums.retransmitted), fmt::to_string(row.sums.connections),
                   size_text(row.sums.received_bytes),
                   fmt::to_string(row.sums.wrong + row.sums.received_wrong)});
  }
  std::string text = table.to_string();
  text += fmt::format("{}\n{}: {}, {}: {} in all, fairness {:.3f}\n", start.text(), pattern,
                      counted(messages(), "message"), size_text(bytes()),
                      format_bit_rate(total_bps()), fairness());
  return text;
}

report::RunRows PerfRanksSummary::page_rows() const {
  report::RunRows rows;
  report::AccountTable& table = rows.accounts.emplace_back(
      "", std::vector<std::string>{"Rank", "Host", "Address", "Started late, ns", "Bytes sent",
                                   "Rate, b/s", "Packets retransmitted", "Bytes received"});
  std::uint64_t received = 0;
  for (const PerfRankRow& row : ranks) {
    table.rows.push_back({row.rank, row.host, row.address, row.timing.late.count(), row.sums.bytes,
                          row.sums.average_bps, row.sums.retransmitted, row.sums.received_bytes});
    received += row.sums.received_bytes;
  }
  table.rows.push_back(
      {nullptr, "all ranks", nullptr, nullptr, bytes(), total_bps(), nullptr, received});
  return rows;
}

void PerfRanksSummary::observe(Judge& judge) const {
  std::uint64_t failed = 0, wrong = 0, packets = 0, resent = 0;
  for (const PerfRankRow& row : ranks) {
    failed += row.sums.failed;
    wrong += row.sums.wrong + row.sums.received_wrong;
    packets += row.sums.packets;
    resent += row.sums.retransmitted;
  }
  judge.add({.name = "goodput",
             .value = total_bps(),
             .text = fmt::format("goodput {} of all ranks", format_bit_rate(total_bps())),
             .count = messages()});
  judge.add({.name = "failed",
             .value = static_cast<double>(failed),
             .text = fmt::format("{} failed", format_count(failed, "work request")),
             .count = messages() + failed});
  judge.add(
      {.name = "wrong",
       .value = static_cast<double>(wrong),
       .text = fmt::format("{} had other bytes than were sent", format_count(wrong, "message")),
       .count = messages()});
  judge.add({.name = "resent",
             .value = packets == 0 ? 0 : static_cast<double>(resent) / static_cast<double>(packets),
             .text = fmt::format("{} of {} retransmitted ({})", format_count(resent),
                                 format_count(packets, "packet"), format_share(resent, packets)),
             .count = packets});
  judge.add({.name = "ranks",
             .value = static_cast<double>(broken.size()),
             .text = broken.empty()
                         ? fmt::format("{} started together", counted(ranks.size(), "rank"))
                         : fmt::format("{}", fmt::join(broken, "; ")),
             .count = ranks.size()});
  lw::observe(judge, machine, "this machine");
}

const FigureTable& PerfRankSums::figures() {
  using Row = FigureOf<PerfRankSums>;
  static constexpr Figure kRows[] = {
      Row::of<&PerfRankSums::messages>("messages", "Messages that it completed."),
      Row::of<&PerfRankSums::bytes>("bytes", "Their bytes.", Unit::bytes),
      Row::of<&PerfRankSums::elapsed>("elapsed_ns", "First post to last completion.", Unit::ns),
      Row::of<&PerfRankSums::average_bps>("average_bps", "Rate of these bytes.",
                                          Unit::bits_per_second),
      Row::of<&PerfRankSums::packets>("packets", "Packets that it sent, retransmitted ones too."),
      Row::of<&PerfRankSums::retransmitted>("retransmitted", "Packets that it retransmitted."),
      Row::of<&PerfRankSums::timeouts>("timeouts", "Timeouts of its QPs."),
      Row::of<&PerfRankSums::failed>("failed", "Work requests that failed."),
      Row::of<&PerfRankSums::wrong>("wrong",
                                    "Messages that came back, or arrived at its peers, "
                                    "with other bytes than were sent."),
      Row::of<&PerfRankSums::stopped>("stopped", "True if its run ended early."),
      Row::of<&PerfRankSums::connections>("connections", "Connections that it served."),
      Row::of<&PerfRankSums::received_bytes>("received_bytes", "Bytes that came to it.",
                                             Unit::bytes),
      Row::of<&PerfRankSums::checked>("checked", "Messages that came to it and were checked."),
      Row::of<&PerfRankSums::received_wrong>(
          "received_wrong", "Messages among them with other bytes than were sent."),
      Row::of<&PerfRankSums::broken>("broken", "Connections that failed."),
      Row::of<&PerfRankSums::bad_icrc>("bad_icrc", "Frames with a wrong ICRC.", Unit::frames),
      Row::of<&PerfRankSums::frames_not_sent>("frames_not_sent",
                                              "Frames that its port did not take.", Unit::frames)};
  static constexpr FigureTable kTable{"What one rank counted.", kRows};
  return kTable;
}

const FigureTable& PerfRankPart::figures() {
  using Row = FigureOf<PerfRankPart>;
  static constexpr Figure kRows[] = {
      Row::of<&PerfRankPart::late>("late_ns", "Its start, after the agreed instant.", Unit::ns),
      Row::rows_of<&PerfRankPart::sums>(),
      Row::of<&PerfRankPart::machine>("machine", "What its machine lost and delayed.")};
  static constexpr FigureTable kTable{"What a rank measured.", kRows};
  return kTable;
}

const FigureTable& PerfRankRow::figures() {
  using Row = FigureOf<PerfRankRow>;
  static constexpr Figure kRows[] = {
      Row::of<&PerfRankRow::rank>("rank", "Number of the rank."),
      Row::of<&PerfRankRow::host>("host", "Name of its machine, with the rank if it runs several."),
      Row::of<&PerfRankRow::machine>("machine", "Name of its machine."),
      Row::of<&PerfRankRow::address>("address", "IP address of its endpoint."),
      Row::rows_of<&PerfRankRow::timing>(),
      Row::rows_of<&PerfRankRow::sums>()};
  static constexpr FigureTable kTable{"One rank of a perf run.", kRows};
  return kTable;
}

const FigureTable& PerfRanksSummary::figures() {
  using Summary = PerfRanksSummary;
  using Row = FigureOf<Summary>;
  static constexpr Figure kRows[] = {
      Row::of<&Summary::pattern>("pattern", "incast, all-to-all or ring."),
      Row::of<&Summary::operation>("operation", "Operation of the messages."),
      Row::of<&Summary::size>("size", "Size of a message.", Unit::bytes),
      Row::of<&Summary::qps>("qps", "QPs from a requester to a responder."),
      Row::of<&Summary::messages>("messages", "Messages of all ranks."),
      Row::of<&Summary::bytes>("bytes", "Their bytes.", Unit::bytes),
      Row::of<&Summary::total_bps>("total_bps", "Sum of the rates.", Unit::bits_per_second),
      Row::of<&Summary::fairness>("fairness", "Jain's index of the requesters' rates, up to 1."),
      Row::of<&Summary::start>("start", "When the ranks started."),
      Row::of<&Summary::ranks>("ranks", "The ranks, by number."),
      Row::of<&Summary::machine>("machine", "What the machines of the ranks lost and delayed.")};
  static constexpr FigureTable kTable{"Report of a perf run of several ranks.", kRows};
  return kTable;
}

}  // namespace lw::gen
