// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_view.h"

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "nic/clock.h"

namespace lw::gen {
namespace {

using report::Align;

/// Simulated packets between two looks at the clock: a packet takes about 0.1 us.
constexpr std::uint64_t kPacketsBetweenLooks = 256;

std::string typical_text(const Histogram& ns) {
  return ns.count() > 0 ? format_duration(Duration{ns.quantile(0.5)}) : "-";
}

}  // namespace

PerfView::PerfView(std::string title, bool live, std::size_t sizes)
    : title_(std::move(title)),
      sizes_(sizes),
      view_({.mode = live ? report::LiveMode::full : report::LiveMode::none}) {
  view_.start(nic::now());
}

void PerfView::attach(sim::Simulation& simulation, const perf::PerfConfig& config) {
  if (!view_.shows()) return;
  before_ = {};
  for (const std::size_t link : {0, 1}) {
    auto others = simulation.link(link).on_enter;
    simulation.link(link).on_enter = [this, &simulation, &config, others](
                                         Instant at, const transport::Packet& packet) {
      if (others) others(at, packet);
      if (++calls_ % kPacketsBetweenLooks == 0) update(simulation, config, at);
    };
  }
}

void PerfView::update(sim::Simulation& simulation, const perf::PerfConfig& config, Instant at) {
  const Instant now = nic::now();
  if (!view_.due(now)) return;
  const Counts counts = counts_of(simulation, config, at);
  view_.show(now, model(config, counts));
  before_ = counts;
}

PerfView::Counts PerfView::counts_of(sim::Simulation& simulation, const perf::PerfConfig& config,
                                     Instant at) {
  Counts counts{.at = at};
  for (std::uint32_t i = 0; i < config.qps; ++i) {
    const auto& requester = simulation.host(0).qp(i).requester().counters();
    const auto& sink = simulation.host(1).qp(i).sink();
    counts.messages += sink.messages() + requester.fetched_bytes / config.size;
    counts.bytes += sink.payload_bytes() + requester.fetched_bytes;
    counts.packets += requester.packets;
    counts.retransmitted += requester.retransmitted;
    counts.timeouts += requester.timeouts;
  }
  return counts;
}

report::LiveModel PerfView::model(const perf::PerfConfig& config, const Counts& now) {
  const double bps = perf::rate_bps(now.bytes - before_.bytes, now.at - before_.at);
  const Duration time = now.at - Instant{};
  trend_.add(bps);
  const std::string average = format_bit_rate(perf::rate_bps(now.bytes, time));
  const std::string again = fmt::format("{} of {}, {} timeouts", now.retransmitted,
                                        counted(now.packets, "packet"), now.timeouts);
  return {.title = title_,
          .status = fmt::format("{} B, run {} of {}", config.size, rows_.size() + 1, sizes_),
          .sections = {{.columns = {{""}, {""}},
                        .rows = {{"simulated time", format_duration(time)},
                                 {"messages", fmt::to_string(now.messages)},
                                 {"goodput",
                                  fmt::format("{} now, {} average  {}", format_bit_rate(bps),
                                              average, trend_.text(report::LiveView::unicode()))},
                                 {"retransmitted", again}}},
                       results()},
          .line = fmt::format("{} B, run {} of {}: {} simulated, {}, {}, retransmitted {}",
                              config.size, rows_.size() + 1, sizes_, format_duration(time),
                              counted(now.messages, "message"), format_bit_rate(bps), again)};
}

void PerfView::add(const perf::PerfConfig& config, const PerfOutcome& outcome) {
  if (!view_.shows()) return;
  const perf::BandwidthResult& run = outcome.bandwidth;
  const Histogram& latency = outcome.latency.ns;
  const std::uint64_t messages = run.messages + latency.count();
  const std::string rate = run.messages > 0 ? format_bit_rate(run.average_bps) : "-";
  rows_.insert(rows_.begin(), {fmt::format("{} B", config.size), fmt::to_string(messages), rate,
                               typical_text(latency), fmt::to_string(run.retransmitted),
                               fmt::to_string(run.timeouts), fmt::to_string(outcome.failed()),
                               outcome.incomplete() ? "incomplete" : ""});
  last_line_ =
      fmt::format("{} B: {}, {}, retransmitted {}, {} timeouts", config.size,
                  counted(messages, "message"), latency.count() > 0 ? typical_text(latency) : rate,
                  counted(run.retransmitted, "packet"), run.timeouts);
}

report::LiveSection PerfView::results() const {
  return {.title = "results",
          .columns = {{"size", Align::right},
                      {"messages", Align::right},
                      {"goodput", Align::right},
                      {"typical latency", Align::right},
                      {"retransmitted", Align::right},
                      {"timeouts", Align::right},
                      {"failed", Align::right},
                      {""}},
          .rows = rows_};
}

report::LiveModel PerfView::last_model() const {
  return {.title = title_,
          .status = fmt::format("{} of {} runs, ended", rows_.size(), sizes_),
          .sections = {results()},
          .line = last_line_};
}

void PerfView::end() {
  if (view_.shows()) view_.finish(last_model());
}

}  // namespace lw::gen
