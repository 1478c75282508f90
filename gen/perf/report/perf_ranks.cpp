// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_ranks.h"

#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/counted.h"
#include "core/json.h"
#include "core/machine_questions.h"
#include "core/quantity.h"
#include "gen/ranks/machine_json.h"
#include "gen/ranks/part_json.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::gen {
namespace {

/// What a part has, in one place for both directions.
template <class Row, class Use>
void each_sum(Row& row, Use use) {
  use("messages", row.messages);
  use("bytes", row.bytes);
  use("elapsed", row.elapsed);
  use("average_bps", row.average_bps);
  use("packets", row.packets);
  use("retransmitted", row.retransmitted);
  use("timeouts", row.timeouts);
  use("failed", row.failed);
  use("wrong", row.wrong);
  use("stopped", row.stopped);
  use("connections", row.connections);
  use("received_bytes", row.received_bytes);
  use("checked", row.checked);
  use("received_wrong", row.received_wrong);
  use("broken", row.broken);
  use("bad_icrc", row.bad_icrc);
  use("frames_not_sent", row.frames_not_sent);
  use("late", row.timing.late);
}

std::string size_text(std::uint64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

}  // namespace

std::string PerfRankRow::part() const {
  report::Json json;
  each_sum(*this, PutNumbers{json});
  json["machine"] = machine_json(own);
  return report::json_line(json);
}

Result<void> PerfRankRow::read(std::string_view part) {
  try {
    const report::Json json = parse_json(part);
    each_sum(*this, GetNumbers{json});
    add_machine(own, host, json.at("machine"));
    timing.reported = true;
    return {};
  } catch (const std::exception& error) {  // of nlohmann-json: a missing key, another type
    return fail(fmt::format("its results can't be read: {}", error.what()), ExitCode::failed);
  }
}

std::uint64_t PerfRanksSummary::messages() const noexcept {
  std::uint64_t sum = 0;
  for (const PerfRankRow& row : ranks) sum += row.messages;
  return sum;
}

std::uint64_t PerfRanksSummary::bytes() const noexcept {
  std::uint64_t sum = 0;
  for (const PerfRankRow& row : ranks) sum += row.bytes;
  return sum;
}

double PerfRanksSummary::total_bps() const noexcept {
  double sum = 0;
  for (const PerfRankRow& row : ranks) sum += row.average_bps;
  return sum;
}

double PerfRanksSummary::fairness() const noexcept {
  double sum = 0, squares = 0, count = 0;
  for (const PerfRankRow& row : ranks) {
    if (row.messages == 0) continue;
    sum += row.average_bps;
    squares += row.average_bps * row.average_bps;
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
                   format_duration(row.timing.late), fmt::to_string(row.messages),
                   size_text(row.bytes), format_bit_rate(row.average_bps),
                   fmt::to_string(row.retransmitted), fmt::to_string(row.connections),
                   size_text(row.received_bytes), fmt::to_string(row.wrong + row.received_wrong)});
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
    table.rows.push_back({row.rank, row.host, row.address, row.timing.late.count(), row.bytes,
                          row.average_bps, row.retransmitted, row.received_bytes});
    received += row.received_bytes;
  }
  table.rows.push_back(
      {nullptr, "all ranks", nullptr, nullptr, bytes(), total_bps(), nullptr, received});
  return rows;
}

void PerfRanksSummary::observe(Judge& judge) const {
  std::uint64_t failed = 0, wrong = 0, packets = 0, resent = 0;
  for (const PerfRankRow& row : ranks) {
    failed += row.failed;
    wrong += row.wrong + row.received_wrong;
    packets += row.packets;
    resent += row.retransmitted;
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

const FigureTable& PerfRankRow::figures() {
  using Row = FigureOf<PerfRankRow>;
  static constexpr Figure kRows[] = {
      Row::of<&PerfRankRow::rank>("rank", "Number of the rank."),
      Row::of<&PerfRankRow::host>("host", "Name of its machine, with the rank if it runs several."),
      Row::of<&PerfRankRow::machine>("machine", "Name of its machine."),
      Row::of<&PerfRankRow::address>("address", "IP address of its endpoint."),
      Row::rows_of<&PerfRankRow::timing>(),
      Row::of<&PerfRankRow::messages>("messages", "Messages that it completed."),
      Row::of<&PerfRankRow::bytes>("bytes", "Their bytes.", Unit::bytes),
      Row::of<&PerfRankRow::elapsed>("elapsed_ns", "First post to last completion.", Unit::ns),
      Row::of<&PerfRankRow::average_bps>("average_bps", "Rate of these bytes.",
                                         Unit::bits_per_second),
      Row::of<&PerfRankRow::packets>("packets", "Packets that it sent, retransmitted ones too."),
      Row::of<&PerfRankRow::retransmitted>("retransmitted", "Packets that it retransmitted."),
      Row::of<&PerfRankRow::timeouts>("timeouts", "Timeouts of its QPs."),
      Row::of<&PerfRankRow::failed>("failed", "Work requests that failed."),
      Row::of<&PerfRankRow::wrong>("wrong",
                                   "Messages that came back, or arrived at its peers, "
                                   "with other bytes than were sent."),
      Row::of<&PerfRankRow::stopped>("stopped", "True if its run ended early."),
      Row::of<&PerfRankRow::connections>("connections", "Connections that it served."),
      Row::of<&PerfRankRow::received_bytes>("received_bytes", "Bytes that came to it.",
                                            Unit::bytes),
      Row::of<&PerfRankRow::checked>("checked", "Messages that came to it and were checked."),
      Row::of<&PerfRankRow::received_wrong>("received_wrong",
                                            "Messages among them with other bytes than were sent."),
      Row::of<&PerfRankRow::broken>("broken", "Connections that failed."),
      Row::of<&PerfRankRow::bad_icrc>("bad_icrc", "Frames with a wrong ICRC.", Unit::frames),
      Row::of<&PerfRankRow::frames_not_sent>("frames_not_sent",
                                             "Frames that its port did not take.", Unit::frames)};
  static constexpr FigureTable kTable{"One rank of a perf run.", kRows};
  return kTable;
}

const FigureTable& PerfRanksSummary::figures() {
  using Summary = PerfRanksSummary;
  using Row = FigureOf<Summary>;
  static constexpr Figure kRows[] = {
      Row::of<&Summary::pattern>("pattern", "incast or all-to-all."),
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
