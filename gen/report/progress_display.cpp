// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/progress_display.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "gen/report/live_flows.h"
#include "gen/report/live_verdict.h"
#include "report/table.h"
#include "wire/ethernet.h"

namespace lw::gen {
namespace {

void add_received(FlowProgress& progress, const ReceiveFlow& flow) {
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
  progress.latency_max_ns = std::max(progress.latency_max_ns, latency.maximum());
  if (progress.latency == nullptr || latency.count() > progress.latency->count())
    progress.latency = &latency;
}

double seconds(Duration time) { return static_cast<double>(time.count()) * 1e-9; }

double per_second(std::uint64_t now, std::uint64_t before, Duration span) {
  return span.count() > 0 ? static_cast<double>(now - before) / seconds(span) : 0;
}

const FlowProgress& at_or_none(const std::vector<FlowProgress>& flows, std::size_t i) {
  static const FlowProgress kNone;
  return i < flows.size() ? flows[i] : kNone;
}

/// Adds a sample of what was sent and received, in the order of rate_history().
void add_sample(report::RateHistory& history, Duration elapsed,
                const std::vector<FlowProgress>& flows) {
  const FlowProgress all = total_of(flows);
  std::vector<std::uint64_t> totals;
  if (all.is_sent) totals.push_back(all.sent_wire_bytes);
  totals.push_back(all.received_bytes + all.received_frames * wire::kEthernetOverhead);
  totals.push_back(all.lost);
  history.add(elapsed, totals);
}

}  // namespace

report::RateHistory rate_history(bool sends, bool receives) {
  std::vector<std::string> rates;
  if (sends) rates.emplace_back("sent");
  if (receives) rates.emplace_back("received");
  std::vector<report::RateHistory::Group> groups = {
      {.title = "Rate over time", .what = "rate on the wire", .counters = std::move(rates)}};
  if (receives)
    groups.push_back({.title = "Loss over time",
                      .what = "lost",
                      .unit = report::RateHistory::Unit::frames,
                      .counters = {"lost"}});
  return report::RateHistory(std::move(groups));
}

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
  for (const ReceiveFlow& flow : received->flows()) {
    const std::uint32_t id = flow.stream.key.dest_qp;
    if (flow.stream.is_signed && id < ours) {
      add_received(all[id], flow);
    } else {
      add_received(all.emplace_back(FlowProgress{.name = name_of(flow, names)}), flow);
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
      view_(std::make_unique<report::LiveView>(
          report::LiveConfig{.mode = options.live    ? report::LiveMode::full
                                     : options.quiet ? report::LiveMode::none
                                                     : report::LiveMode::brief,
                             .elsewhere = std::chrono::seconds(5)})),
      model_([title = options.title, trend = report::Sparkline()](const ProgressNow& now) mutable {
        return flow_model(title, now, trend);
      }) {}

Result<ProgressDisplay> ProgressDisplay::open(const ProgressOptions& options,
                                              const LiveSubject& subject) {
  ProgressDisplay display(options);
  if (options.web.address) {
    auto page = LivePage::open(options.web, subject);
    if (!page) return std::unexpected(page.error());
    display.page_.emplace(std::move(*page));
    fmt::print(stderr, "live page: {}\n", display.page_->url());
  }
  if (options.series.empty()) return display;
  auto series = OutputFile::open(options.series, OutputFile::Mode::growing);
  if (!series) return std::unexpected(series.error());
  display.series_ = std::move(*series);
  display.series_->write(series_header());
  return display;
}

void ProgressDisplay::start(Instant now) {
  start_ = now;
  shown_ = written_ = {.at = now};
  next_ = now + options_.interval;
  if (page_) next_page_ = now;
  view_->start(now);
}

Verdict ProgressDisplay::verdict_at(Instant now, const std::vector<FlowProgress>& flows,
                                    const PacingSoFar& pacing, bool ended) const {
  return verdict_of({.all = total_of(flows),
                     .pacing = pacing,
                     .elapsed = now - start_,
                     .losses = losses_,
                     .knows_sender = options_.knows_sender,
                     .ended = ended});
}

void ProgressDisplay::show(Instant now, const std::vector<FlowProgress>& flows,
                           std::optional<Duration> left, const Measurement* received,
                           const PacingSoFar& pacing) {
  const bool page_due = now >= next_page_, view_due = view_->due(now);
  Verdict verdict;
  if (page_due || view_due) verdict = verdict_at(now, flows, pacing, false);
  if (page_due) {
    page_->show(now - start_, left, flows, received, verdict);
    next_page_ = now + LivePage::kInterval;
  }
  if (series_due(now)) {
    write_rows(now, flows);
    while (next_ <= now) next_ += options_.interval;
  }
  if (history_due(now)) add_sample(*options_.history, now - start_, flows);
  if (!view_due) return;
  view_->show(now, model_({.elapsed = now - start_,
                           .left = left,
                           .span = now - shown_.at,
                           .flows = flows,
                           .before = shown_.flows,
                           .pacing = pacing,
                           .verdict = std::move(verdict)}));
  shown_ = {now, flows};
}

void ProgressDisplay::finish(Instant now, std::vector<FlowProgress> flows,
                             const Measurement* received, const PacingSoFar& pacing) {
  if (options_.at_end) options_.at_end(flows);
  write_rows(now, flows);
  if (series_) report_at_end(series_->close());
  series_.reset();
  const Verdict verdict = verdict_at(now, flows, pacing, true);
  if (page_) page_->finish(now - start_, flows, received, verdict);
  const Duration elapsed = now - start_;
  if (options_.history != nullptr) add_sample(*options_.history, elapsed, flows);
  if (options_.live)
    view_->finish(model_({.elapsed = elapsed,
                          .span = elapsed,
                          .flows = flows,
                          .before = {},
                          .pacing = pacing,
                          .verdict = verdict,
                          .ended = true}));
  view_->end();
}

void ProgressDisplay::write_rows(Instant now, const std::vector<FlowProgress>& flows) {
  if (!series_ || now <= written_.at) return;
  for (std::size_t i = 0; i < flows.size(); ++i)
    series_->write(
        series_row(written_.at - start_, now - start_, flows[i], at_or_none(written_.flows, i)));
  series_->flush();
  written_ = {now, flows};
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
