// SPDX-License-Identifier: BSD-3-Clause
#include "gen/report/live_flows.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "gen/report/run_report.h"
#include "report/live_view.h"

namespace lw::gen {
namespace {

using report::Align;
using report::LiveSection;

/// Flows on the screen. For each, the receiving loop computes three quantiles.
constexpr std::size_t kMostRows = 32;

double seconds_of(Duration time) { return static_cast<double>(time.count()) * 1e-9; }

double change_rate(std::uint64_t now, std::uint64_t before, Duration span) {
  return span.count() > 0 ? static_cast<double>(now - before) / seconds_of(span) : 0;
}

std::string ns_to_text(double ns) {
  return format_duration(Duration{static_cast<std::int64_t>(ns)});
}

double mean_latency(const FlowProgress& flow) {
  return flow.latencies > 0 ? flow.latency_sum_ns / static_cast<double>(flow.latencies) : 0;
}

const FlowProgress& flow_before(const ProgressNow& now, std::size_t i) {
  static const FlowProgress kNone;
  return i < now.before.size() ? now.before[i] : kNone;
}

/// Rates of a flow since the last update: of sent frames; of received frames if the flow is not
/// sent.
struct FlowRates {
  double bps = 0, frames = 0;

  FlowRates(const FlowProgress& flow, const FlowProgress& before, Duration span) {
    bps = 8 * (flow.is_sent ? change_rate(flow.sent_wire_bytes, before.sent_wire_bytes, span)
                            : change_rate(flow.received_bytes, before.received_bytes, span));
    frames = flow.is_sent ? change_rate(flow.sent_frames, before.sent_frames, span)
                          : change_rate(flow.received_frames, before.received_frames, span);
  }
};

std::string received_text(const FlowProgress& all) {
  return fmt::format("{}, {} lost, {} duplicated, {} out of order, {} bad ICRC, {} CE",
                     counted(all.received_frames, "frame"), all.lost, all.duplicated,
                     all.out_of_order, all.bad_icrc, all.ce_marks);
}

LiveSection totals_of(const ProgressNow& now, const FlowProgress& all, const FlowProgress& before,
                      report::Sparkline& trend) {
  LiveSection section{.columns = {{""}, {""}}};
  const auto add = [&](const char* what, std::string text) {
    section.rows.push_back({what, std::move(text)});
  };
  const FlowRates rates(all, before, now.span);
  if (!now.ended) trend.add(rates.bps);
  add(all.is_sent ? "rate on the wire" : "rate",
      rate_text(rates.bps, rates.frames) + "  " + trend.text(report::LiveView::unicode()));
  if (all.is_sent)
    add("sent", fmt::format("{}, {} not sent", counted(all.sent_frames, "frame"), all.not_sent));
  if (now.pacing.bursts > 0)
    add("pacing error",
        fmt::format("mean {}, max {}",
                    ns_to_text(now.pacing.sum_ns / static_cast<double>(now.pacing.bursts)),
                    ns_to_text(static_cast<double>(now.pacing.largest_ns))));
  if (all.is_received) add("received", received_text(all));
  if (all.latencies > 0)
    add("latency", fmt::format("mean {}, max {}", ns_to_text(mean_latency(all)),
                               ns_to_text(static_cast<double>(all.latency_max_ns))));
  return section;
}

/// Indices of the flows with the highest rates, at most `most`, in this order.
std::vector<std::size_t> busiest(const ProgressNow& now, std::size_t most) {
  std::vector<std::pair<double, std::size_t>> rates;
  for (std::size_t i = 0; i < now.flows.size(); ++i)
    rates.emplace_back(-FlowRates(now.flows[i], flow_before(now, i), now.span).bps, i);
  const std::size_t count = std::min(most, rates.size());
  std::ranges::partial_sort(rates, rates.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < count; ++i) places.push_back(rates[i].second);
  return places;
}

std::vector<std::string> sent_cells(const FlowProgress& flow) {
  if (!flow.is_sent) return {"-", "-"};
  return {fmt::to_string(flow.sent_frames), fmt::to_string(flow.not_sent)};
}

std::vector<std::string> received_cells(const FlowProgress& flow) {
  std::vector<std::string> cells(6, "-");
  if (!flow.is_received) return cells;
  cells[0] = fmt::to_string(flow.received_frames);
  cells[1] = fmt::to_string(flow.lost);
  cells[2] = fmt::to_string(flow.out_of_order);
  if (flow.latency == nullptr || flow.latencies == 0) return cells;
  cells[3] = ns_to_text(static_cast<double>(flow.latency->quantile(0.5)));
  cells[4] = ns_to_text(static_cast<double>(flow.latency->quantile(0.99)));
  cells[5] = ns_to_text(static_cast<double>(flow.latency_max_ns));
  return cells;
}

LiveSection flow_section(const ProgressNow& now, const FlowProgress& all) {
  LiveSection section{.columns = {{"flow", Align::left}}};
  std::vector<const char*> titles = {"rate", "frames/s"};
  if (all.is_sent) titles.insert(titles.end(), {"sent", "not sent"});
  if (all.is_received)
    titles.insert(titles.end(), {"received", "lost", "late", "p50", "p99", "max"});
  for (const char* title : titles) section.columns.push_back({title, Align::right});
  for (const std::size_t i : busiest(now, kMostRows)) {
    const FlowProgress& flow = now.flows[i];
    const FlowRates rates(flow, flow_before(now, i), now.span);
    std::vector<std::string> row = {flow.name, format_bit_rate(rates.bps),
                                    fmt::format("{:.0f}", rates.frames)};
    if (all.is_sent) std::ranges::move(sent_cells(flow), std::back_inserter(row));
    if (all.is_received) std::ranges::move(received_cells(flow), std::back_inserter(row));
    section.rows.push_back(std::move(row));
  }
  section.more = now.flows.size() - section.rows.size();
  return section;
}

/// Returns the p99 of the worst flow, in ns; 0 if there are too many flows.
std::int64_t worst_p99(const std::vector<FlowProgress>& flows) {
  if (flows.size() > kMostQuantiles) return 0;
  std::int64_t worst = 0;
  for (const FlowProgress& flow : flows)
    if (flow.latency != nullptr) worst = std::max(worst, flow.latency->quantile(0.99));
  return worst;
}

}  // namespace

std::string rate_text(double bits_per_second, double frames_per_second) {
  return fmt::format("{}, {} frames/s", format_bit_rate(bits_per_second),
                     per_second_text(frames_per_second));
}

std::string time_text(const ProgressNow& now) {
  std::string text = fmt::format("{:.0f} s", seconds_of(now.elapsed));
  if (now.ended) return text + ", ended";
  if (now.left) text += fmt::format(", {:.0f} s left", std::max(0.0, seconds_of(*now.left)));
  return text;
}

report::LiveModel flow_model(const std::string& title, const ProgressNow& now,
                             report::Sparkline& trend) {
  const FlowProgress all = total_of(now.flows), before = total_of(now.before);
  report::LiveModel model{.title = title,
                          .status = time_text(now),
                          .sections = {totals_of(now, all, before, trend), flow_section(now, all)},
                          .line = flow_line(now)};
  model.show(now.verdict);
  return model;
}

std::string flow_line(const ProgressNow& now) {
  const FlowProgress all = total_of(now.flows), before = total_of(now.before);
  std::string text = time_text(now);
  if (all.is_sent)
    text += fmt::format(
        "; sent {}, {}, {} not sent", counted(all.sent_frames, "frame"),
        format_bit_rate(8 * change_rate(all.sent_wire_bytes, before.sent_wire_bytes, now.span)),
        all.not_sent);
  if (all.is_received)
    text += fmt::format(
        "; received {}, {}, {} lost, {} late", counted(all.received_frames, "frame"),
        format_bit_rate(8 * change_rate(all.received_bytes, before.received_bytes, now.span)),
        all.lost, all.out_of_order);
  if (const std::int64_t p99 = worst_p99(now.flows); all.latencies > 0 && p99 > 0)
    text += fmt::format(", p99 {}", ns_to_text(static_cast<double>(p99)));
  return text;
}

}  // namespace lw::gen
