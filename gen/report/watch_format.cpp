// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <fmt/format.h>

#include "core/quantity.h"
#include "gen/report/csv.h"
#include "gen/stats/watch.h"
#include "report/table.h"

namespace lw::gen {
namespace {

constexpr std::size_t kMostRows = 40;  // a screen's

double seconds(Duration time) { return static_cast<double>(time.count()) * 1e-9; }

double per_second(std::uint64_t now, std::uint64_t before, Duration span) {
  return span.count() > 0 ? static_cast<double>(now - before) / seconds(span) : 0;
}

std::string bits_text(std::uint64_t now, std::uint64_t before, Duration span) {
  return format_bit_rate(8 * per_second(now, before, span));
}

std::string latency_text(const FlowProgress& flow, double ns) {
  return flow.latencies > 0 ? format_duration(Duration{static_cast<std::int64_t>(ns)}) : "-";
}

double mean_of(const FlowProgress& flow) {
  return flow.latencies > 0 ? flow.latency_sum_ns / static_cast<double>(flow.latencies) : 0;
}

std::string time_line(Duration elapsed, std::optional<Duration> left) {
  std::string text = fmt::format("{:.0f} s", seconds(elapsed));
  if (left) text += fmt::format(", {:.0f} s left", std::max(0.0, seconds(*left)));
  return text;
}

void add_row(report::Table& table, const FlowProgress& flow, const FlowProgress& before,
             Duration span) {
  const auto count = [](bool shown, std::uint64_t n) { return shown ? fmt::to_string(n) : "-"; };
  table.add_row(
      {flow.name, count(flow.is_sent, flow.sent_frames),
       flow.is_sent ? bits_text(flow.sent_wire_bytes, before.sent_wire_bytes, span) : "-",
       count(flow.is_received, flow.received_frames),
       flow.is_received ? bits_text(flow.received_bytes, before.received_bytes, span) : "-",
       count(flow.is_received, flow.lost), count(flow.is_received, flow.out_of_order),
       latency_text(flow, mean_of(flow)), latency_text(flow, static_cast<double>(flow.p99_ns)),
       latency_text(flow, static_cast<double>(flow.latency_max_ns))});
}

}  // namespace

std::string screen_of(Duration elapsed, std::optional<Duration> left, Duration span,
                      const std::vector<FlowProgress>& flows,
                      const std::vector<FlowProgress>& before) {
  using report::Align;
  std::vector<report::Table::Column> columns = {{"flow", Align::left}};
  for (const char* title :
       {"sent", "on the wire", "received", "rate", "lost", "late", "mean", "p99", "max"}) {
    columns.push_back({title, Align::right});
  }
  report::Table table(columns);
  const std::size_t rows = std::min(flows.size(), kMostRows);
  for (std::size_t i = 0; i < rows; ++i) {
    add_row(table, flows[i], i < before.size() ? before[i] : FlowProgress{}, span);
  }
  add_row(table, total_of(flows), total_of(before), span);
  std::string text = time_line(elapsed, left) + "\n" + table.to_string();
  if (flows.size() > rows) text += fmt::format("{} flows more\n", flows.size() - rows);
  return text;
}

std::string line_of(Duration elapsed, std::optional<Duration> left, Duration span,
                    const FlowProgress& total, const FlowProgress& before) {
  std::string text = time_line(elapsed, left);
  if (total.is_sent) {
    text +=
        fmt::format("; sent {} frames, {}, {} not sent", total.sent_frames,
                    bits_text(total.sent_wire_bytes, before.sent_wire_bytes, span), total.not_sent);
  }
  if (total.is_received) {
    text += fmt::format("; received {} frames, {}, {} lost, {} late", total.received_frames,
                        bits_text(total.received_bytes, before.received_bytes, span), total.lost,
                        total.out_of_order);
  }
  if (total.latencies > 0) {
    text += fmt::format(", p99 {}", latency_text(total, static_cast<double>(total.p99_ns)));
  }
  return text + "\n";
}

std::string series_header() {
  return "from_s,to_s,flow,sent_frames,sent_bits_per_s,not_sent,received_frames,"
         "received_bits_per_s,lost,duplicated,out_of_order,bad_icrc,ce_marks,latency_mean_ns\n";
}

std::string series_row(Duration from, Duration to, const FlowProgress& flow,
                       const FlowProgress& before) {
  const Duration span = to - from;
  const auto latencies = flow.latencies - before.latencies;
  // What was lost may come late: then an interval has fewer than none.
  const auto change = [](std::uint64_t now, std::uint64_t then) {
    return static_cast<std::int64_t>(now - then);
  };
  const std::string latency =
      latencies == 0 ? ""
                     : fmt::format("{:.0f}", (flow.latency_sum_ns - before.latency_sum_ns) /
                                                 static_cast<double>(latencies));
  return fmt::format("{:.6f},{:.6f},{},{},{:.0f},{},{},{:.0f},{},{},{},{},{},{}\n", seconds(from),
                     seconds(to), csv_field(flow.name), flow.sent_frames - before.sent_frames,
                     8 * per_second(flow.sent_wire_bytes, before.sent_wire_bytes, span),
                     flow.not_sent - before.not_sent, flow.received_frames - before.received_frames,
                     8 * per_second(flow.received_bytes, before.received_bytes, span),
                     change(flow.lost, before.lost), flow.duplicated - before.duplicated,
                     flow.out_of_order - before.out_of_order, flow.bad_icrc - before.bad_icrc,
                     flow.ce_marks - before.ce_marks, latency);
}

}  // namespace lw::gen
