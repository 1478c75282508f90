// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/run_rows.h"

#include <cmath>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::gen {
namespace {

using report::AccountTable;
using report::Json;
using report::RequestedRow;

/// "2.00 Gb/s on the wire", "1,000 frames/s".
std::string text_of(const config::Rate& rate) {
  constexpr std::string_view kBits = "b/s";
  const std::string_view unit = name_of(rate.unit);
  if (!unit.starts_with(kBits)) return fmt::format("{} {}", format_number(rate.value), unit);
  return fmt::format("{}{}", format_bit_rate(rate.value), unit.substr(kBits.size()));
}

void add_rates(std::vector<RequestedRow>& rows, const std::vector<SentFlow>& flows) {
  constexpr double kNear = 0.01;
  for (const SentFlow& flow : flows) {
    const std::uint64_t not_sent = flow.counters.not_sent;
    const bool near = std::abs(flow.achieved.value / flow.asked.value - 1) <= kNear;
    rows.push_back({flow.name + ": rate", text_of(flow.asked), text_of(flow.achieved), near});
    rows.push_back({flow.name + ": frames that the port did not take", "0", format_count(not_sent),
                    not_sent == 0});
  }
}

AccountTable sent_table(const std::vector<SentFlow>& flows, const FlowCounters& total) {
  AccountTable table{.identity = "frames of all flows = frames of the run",
                     .columns = {"Flow", "Sent", "Not taken by the port", "Adds up"}};
  std::uint64_t frames = 0, not_sent = 0;
  for (const auto& [name, host, counters, asked, achieved, qps] : flows) {
    table.rows.push_back({name, counters.frames, counters.not_sent, nullptr});
    frames += counters.frames;
    not_sent += counters.not_sent;
  }
  table.rows.push_back({"all flows", total.frames, total.not_sent,
                        total.frames == frames && total.not_sent == not_sent});
  return table;
}

/// Returns the flows of the sender that were received too. `all_signed`: every frame had a
/// signature, so each that came was counted in its flow.
AccountTable returned_table(const ReturnedFrames& returned, bool all_signed) {
  AccountTable table{.identity = all_signed ? "sent + duplicated = received + lost" : "",
                     .columns = {"Flow", "Sent", "Received", "Duplicated", "Lost"}};
  if (all_signed) table.columns.emplace_back("Adds up");
  for (const FlowRow& flow : returned.flows) {
    if (!flow.missing) continue;
    const std::uint64_t sent = flow.sent.value_or(0), came = flow.flow->frames,
                        copies = flow.flow->order.duplicated, lost = flow.lost();
    table.rows.push_back({flow.name, sent, came, copies, lost});
    if (all_signed) table.rows.back().push_back(sent + copies == came + lost);
  }
  return table;
}

/// Clock and start of each rank, and what it sent.
AccountTable rank_table(const std::vector<RankRow>& ranks, const FlowCounters& total) {
  AccountTable table{
      .identity = "frames of all ranks = frames of the run",
      .columns = {"Rank", "Host", "Clock ahead of rank 0's, ns", "Its largest error, ns",
                  "Started late, ns", "Sent", "Not taken by the port", "Received", "Adds up"}};
  std::uint64_t frames = 0;
  for (const RankRow& row : ranks) {
    const ClockDifference& clock = row.timing.clock.before;
    table.rows.push_back({row.rank, row.host, clock.ahead.count(), clock.bound.count(),
                          row.timing.late.count(), row.sent.frames, row.sent.not_sent,
                          row.received ? Json(row.received->roce) : Json(), nullptr});
    frames += row.sent.frames;
  }
  table.rows.push_back({nullptr, "all ranks", nullptr, nullptr, nullptr, total.frames,
                        total.not_sent, nullptr, total.frames == frames});
  return table;
}

}  // namespace

report::RunRows page_rows(const RunSummary& summary) {
  report::RunRows rows;
  const std::vector<SentFlow> flows = summary.flows();
  const FlowCounters total = summary.sent().total();
  add_rates(rows.requested, flows);
  rows.accounts.push_back(sent_table(flows, total));
  if (const auto returned = summary.returned())
    rows.accounts.push_back(returned_table(*returned, total.unsigned_frames == 0));
  return rows;
}

report::RunRows page_rows(const RanksSummary& summary) {
  report::RunRows rows = page_rows(summary.whole);
  rows.accounts.insert(rows.accounts.begin(),
                       rank_table(summary.ranks, summary.whole.sent().total()));
  return rows;
}

report::RunRows page_rows(const ReceiveSummary& summary) {
  report::RunRows rows;
  AccountTable& table = rows.accounts.emplace_back(
      "", std::vector<std::string>{"Flow", "Received", "Lost", "Duplicated", "Out of order",
                                   "Bad ICRC"});
  for (const FlowRow& flow : summary.flows) {
    const analysis::OrderCounts& order = flow.flow->order;
    const auto lost = flow.knows_loss() ? report::Json(flow.lost()) : report::Json();
    table.rows.push_back({flow.name, flow.flow->frames, lost, order.duplicated, order.out_of_order,
                          flow.flow->bad_icrc});
  }
  return rows;
}

}  // namespace lw::gen
