// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/interval_report.h"

#include <cstdio>

#include <fmt/format.h>

#include "core/output.h"
#include "core/quantity.h"

namespace lw::gen {
namespace {

double in_seconds(Duration time) { return static_cast<double>(time.count()) * 1e-9; }
double in_us(Duration time) { return static_cast<double>(time.count()) * 1e-3; }

std::string span_text(Duration from, Duration to) {
  return fmt::format("{:>7.2f} -{:>7.2f} s", in_seconds(from), in_seconds(to));
}

}  // namespace

std::string interval_heading(bool latency) {
  if (latency)
    return fmt::format("{:>18} {:>12} {:>12} {:>12} {:>12}\n", "interval", "messages",
                       "t_min[usec]", "t_avg[usec]", "t_max[usec]");
  return fmt::format("{:>18} {:>14} {:>12} {:>18} {:>8} {:>12}\n", "interval", "rate", "packets",
                     "retransmitted", "losses", "round trip");
}

std::string interval_line(Duration from, Duration to, const IntervalTotals& before,
                          const IntervalTotals& after, const LatencyWindow* window) {
  if (window != nullptr)
    return fmt::format("{} {:>12} {:>12.2f} {:>12.2f} {:>12.2f}\n", span_text(from, to),
                       window->count(), in_us(window->least()), in_us(window->mean()),
                       in_us(window->most()));
  const std::uint64_t packets = after.packets - before.packets;
  const std::uint64_t again = after.retransmitted - before.retransmitted;
  const double bits = 8.0 * static_cast<double>(after.bytes - before.bytes);
  const double time = in_seconds(to - from);
  return fmt::format(
      "{} {:>14} {:>12} {:>18} {:>8} {:>12}\n", span_text(from, to),
      format_bit_rate(time > 0 ? bits / time : 0), format_count(packets),
      fmt::format("{} ({})", format_count(again), format_share(again, packets)),
      format_count(after.losses - before.losses),
      after.round_trip > Duration{} ? format_duration(after.round_trip) : std::string("-"));
}

void IntervalReport::start(Instant now) noexcept {
  start_ = last_ = now;
  before_ = {};
  next_ = every_ > Duration{} ? now + every_ : Instant::max();
}

void IntervalReport::print(const std::string& line) const {
  if (on_stderr_) {
    fmt::print(stderr, "{}", line);
    return;
  }
  print_report(line);
  standard_output().flush();
}

void IntervalReport::add(Instant now, const IntervalTotals& totals, const LatencyWindow* window) {
  if (last_ == start_) print(interval_heading(window != nullptr));
  print(interval_line(last_ - start_, now - start_, before_, totals, window));
  before_ = totals;
  last_ = now;
  while (next_ <= now) next_ += every_;
}

void IntervalReport::finish(Instant now, const IntervalTotals& totals,
                            const LatencyWindow* window) {
  if (every_ == Duration{} || totals.messages == before_.messages) return;
  add(now, totals, window);
}

}  // namespace lw::gen
