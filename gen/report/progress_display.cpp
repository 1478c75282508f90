// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/progress_display.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "core/quantity.h"
#include "report/table.h"

namespace lw::gen {
namespace {

void add_received(FlowProgress& progress, const ReceiveFlow& flow, bool with_quantiles) {
  progress.is_received = true;
  progress.received_frames += flow.frames;
  progress.received_bytes += flow.bytes;
  progress.lost += flow.order.lost;
  progress.duplicated += flow.order.duplicated;
  progress.out_of_order += flow.order.out_of_order;
  progress.bad_icrc += flow.bad_icrc;
  progress.ce_marks += flow.ce_marks;
  if (!flow.signature) return;
  const Histogram& latency = flow.signature->latency;
  progress.latencies += latency.count();
  progress.latency_sum_ns += latency.mean() * static_cast<double>(latency.count());
  if (with_quantiles) progress.p99_ns = std::max(progress.p99_ns, latency.quantile(0.99));
  progress.latency_max_ns = std::max(progress.latency_max_ns, latency.maximum());
}

constexpr std::size_t kMostRows = 40;  // of a screen

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

const FlowProgress& at_or_none(const std::vector<FlowProgress>& flows, std::size_t i) {
  static const FlowProgress kNone;
  return i < flows.size() ? flows[i] : kNone;
}

}  // namespace

FlowProgress& FlowProgress::operator+=(const FlowProgress& flow) {
  is_sent |= flow.is_sent;
  is_received |= flow.is_received;
  sent_frames += flow.sent_frames;
  sent_wire_bytes += flow.sent_wire_bytes;
  not_sent += flow.not_sent;
  received_frames += flow.received_frames;
  received_bytes += flow.received_bytes;
  lost += flow.lost;
  duplicated += flow.duplicated;
  out_of_order += flow.out_of_order;
  bad_icrc += flow.bad_icrc;
  ce_marks += flow.ce_marks;
  latencies += flow.latencies;
  latency_sum_ns += flow.latency_sum_ns;
  p99_ns = std::max(p99_ns, flow.p99_ns);
  latency_max_ns = std::max(latency_max_ns, flow.latency_max_ns);
  return *this;
}

std::vector<FlowProgress> progress_of(const FlowNames& names, const std::vector<FlowCounters>* sent,
                                      const Measurement* received) {
  std::vector<FlowProgress> all;
  for (std::size_t i = 0; sent != nullptr && i < sent->size(); ++i) {
    const FlowCounters& counters = (*sent)[i];
    all.push_back({.name = names[i],
                   .is_sent = true,
                   .sent_frames = counters.frames,
                   .sent_wire_bytes = counters.wire_bytes,
                   .not_sent = counters.not_sent});
  }
  const std::size_t ours = all.size();
  if (received == nullptr) return all;
  const bool few = received->flows().size() <= kMostQuantiles;
  for (const ReceiveFlow& flow : received->flows()) {
    const std::uint32_t id = flow.stream.key.dest_qp;
    if (flow.stream.is_signed && id < ours) {
      add_received(all[id], flow, few);
    } else {
      add_received(all.emplace_back(FlowProgress{.name = name_of(flow, names)}), flow, few);
    }
  }
  return all;
}

FlowProgress total_of(const std::vector<FlowProgress>& flows) {
  FlowProgress sum{.name = "all"};
  for (const FlowProgress& flow : flows) sum += flow;
  return sum;
}

ProgressDisplay::ProgressDisplay(const ProgressOptions& options)
    : options_(options),
      display_({.style = report::ProgressStyle::screen,
                .terminal_interval = options.interval,
                .other_interval = std::chrono::seconds(5)}) {}

Result<ProgressDisplay> ProgressDisplay::open(const ProgressOptions& options,
                                              const LiveSubject& subject) {
  ProgressDisplay display(options);
  if (options.web.address) {
    auto view = LiveView::open(options.web, subject);
    if (!view) return std::unexpected(view.error());
    display.view_.emplace(std::move(*view));
    fmt::print(stderr, "live page: {}\n", display.view_->url());
  }
  if (options.series.empty()) return display;
  auto series = OutputFile::open(options.series, OutputFile::Mode::growing);
  if (!series) return std::unexpected(series.error());
  display.series_ = std::move(*series);
  display.series_->write(series_header());
  return display;
}

void ProgressDisplay::start(Instant now) {
  start_ = last_ = now;
  next_ = now + options_.interval;
  if (view_) next_view_ = now;
  display_.restart(now);
}

void ProgressDisplay::show(Instant now, const std::vector<FlowProgress>& flows,
                           std::optional<Duration> left, const Measurement* received) {
  if (now >= next_view_) {
    view_->show(now - start_, left, flows, received);
    next_view_ = now + LiveView::kInterval;
  }
  if (now < next_) return;
  write_rows(now, flows);
  if (!options_.quiet && display_.on_terminal()) {
    const std::string page = view_ ? fmt::format("live page: {}\n", view_->url()) : "";
    display_.show(now, page + screen_of(now - start_, left, now - last_, flows, before_));
  } else if (!options_.quiet && display_.due(now)) {
    display_.show(now,
                  line_of(now - start_, left, now - last_, total_of(flows), total_of(before_)));
  }
  before_ = flows;
  last_ = now;
  while (next_ <= now) next_ += options_.interval;
}

void ProgressDisplay::finish(Instant now, const std::vector<FlowProgress>& flows,
                             const Measurement* received) {
  write_rows(now, flows);
  if (series_) report_at_end(series_->close());
  series_.reset();
  if (view_) view_->finish(now - start_, flows, received);
}

void ProgressDisplay::write_rows(Instant now, const std::vector<FlowProgress>& flows) {
  if (!series_ || now <= last_) return;
  for (std::size_t i = 0; i < flows.size(); ++i)
    series_->write(series_row(last_ - start_, now - start_, flows[i], at_or_none(before_, i)));
  series_->flush();
}

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
  // A lost frame may arrive late, so a change may be negative.
  const auto change = [](std::uint64_t now, std::uint64_t then) {
    return static_cast<std::int64_t>(now - then);
  };
  const std::string latency =
      latencies == 0 ? ""
                     : fmt::format("{:.0f}", (flow.latency_sum_ns - before.latency_sum_ns) /
                                                 static_cast<double>(latencies));
  return fmt::format("{:.6f},{:.6f},{},{},{:.0f},{},{},{:.0f},{},{},{},{},{},{}\n", seconds(from),
                     seconds(to), report::csv_field(flow.name),
                     flow.sent_frames - before.sent_frames,
                     8 * per_second(flow.sent_wire_bytes, before.sent_wire_bytes, span),
                     flow.not_sent - before.not_sent, flow.received_frames - before.received_frames,
                     8 * per_second(flow.received_bytes, before.received_bytes, span),
                     change(flow.lost, before.lost), flow.duplicated - before.duplicated,
                     flow.out_of_order - before.out_of_order, flow.bad_icrc - before.bad_icrc,
                     flow.ce_marks - before.ce_marks, latency);
}

}  // namespace lw::gen
