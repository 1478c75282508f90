// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/interval_report.h"

#include <algorithm>
#include <cstdio>
#include <functional>

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

/// Rate of the payload that was completed in `time`.
double payload_bps(const IntervalTotals& before, const IntervalTotals& after, Duration time) {
  const double bits = 8.0 * static_cast<double>(after.bytes - before.bytes);
  return time > Duration{} ? bits / in_seconds(time) : 0;
}

template <auto member>
double interval_usec(const IntervalExtremes& extremes) {
  return in_us(extremes.*member);
}

}  // namespace

void IntervalExtremes::add(std::uint64_t messages, double bps) noexcept {
  least_bps = count == 0 ? bps : std::min(least_bps, bps);
  most_bps = std::max(most_bps, bps);
  ++count;
  empty += messages == 0 ? 1 : 0;
}

void IntervalExtremes::add(const LatencyWindow& window) noexcept {
  const bool first = count == empty;
  ++count;
  if (window.count() == 0) {
    ++empty;
    return;
  }
  least_mean = first ? window.mean() : std::min(least_mean, window.mean());
  most_mean = std::max(most_mean, window.mean());
  most_minimum = std::max(most_minimum, window.least());
  least_maximum = first ? window.most() : std::min(least_maximum, window.most());
}

namespace {

/// The rows that both kinds of runs have.
const FigureTable& interval_counts() {
  using Row = FigureOf<IntervalExtremes>;
  static constexpr Figure kRows[] = {
      Row::of<&IntervalExtremes::count>("whole", "Whole intervals."),
      Row::of<&IntervalExtremes::empty>("empty", "Intervals without a completed message."),
      Row::of<&IntervalExtremes::length>("length_ns", "Length of an interval.", Unit::ns)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace

const FigureTable& IntervalExtremes::bandwidth() {
  using Row = FigureOf<IntervalExtremes>;
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, interval_counts>(),
      Row::of<[](const IntervalExtremes& e) { return e.least_bps / 1e9; }>(
          "bw_least_gbps", "Lowest rate of an interval.", Unit::gbps),
      Row::of<[](const IntervalExtremes& e) { return e.most_bps / 1e9; }>(
          "bw_most_gbps", "Highest rate of an interval.", Unit::gbps)};
  static constexpr FigureTable kTable{"Rates of the whole intervals of --interval.", kRows};
  return kTable;
}

const FigureTable& IntervalExtremes::latency() {
  using Row = FigureOf<IntervalExtremes>;
  static constexpr Figure kRows[] = {
      Row::with_table<std::identity{}, interval_counts>(),
      Row::of<interval_usec<&IntervalExtremes::least_mean>>(
          "t_avg_least_usec", "Lowest mean of an interval.", Unit::us),
      Row::of<interval_usec<&IntervalExtremes::most_mean>>(
          "t_avg_most_usec", "Highest mean of an interval.", Unit::us),
      Row::of<interval_usec<&IntervalExtremes::most_minimum>>(
          "t_min_most_usec", "Highest smallest latency of an interval.", Unit::us),
      Row::of<interval_usec<&IntervalExtremes::least_maximum>>(
          "t_max_least_usec", "Lowest largest latency of an interval.", Unit::us)};
  static constexpr FigureTable kTable{"Latencies of the whole intervals of --interval.", kRows};
  return kTable;
}

std::string extremes_line(const IntervalExtremes& extremes, bool latency) {
  std::string text = fmt::format("{} whole intervals of {}: ", format_count(extremes.count),
                                 format_set_duration(extremes.length));
  if (!latency)
    text += fmt::format("{} to {}", format_bit_rate(extremes.least_bps),
                        format_bit_rate(extremes.most_bps));
  else if (extremes.count > extremes.empty)
    text += fmt::format("t_avg {:.2f} to {:.2f} usec, t_min up to {:.2f}, t_max from {:.2f}",
                        in_us(extremes.least_mean), in_us(extremes.most_mean),
                        in_us(extremes.most_minimum), in_us(extremes.least_maximum));
  if (extremes.empty > 0) text += fmt::format("; {} without a message", extremes.empty);
  return text + "\n";
}

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
  return fmt::format(
      "{} {:>14} {:>12} {:>18} {:>8} {:>12}\n", span_text(from, to),
      format_bit_rate(payload_bps(before, after, to - from)), format_count(packets),
      fmt::format("{} ({})", format_count(again), format_share(again, packets)),
      format_count(after.losses - before.losses),
      after.round_trip() > Duration{} ? format_duration(after.round_trip()) : std::string("-"));
}

void IntervalReport::start(Instant now) noexcept {
  start_ = last_ = now;
  before_ = {};
  extremes_ = {.length = every_};
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

void IntervalReport::show(Instant now, const IntervalTotals& totals, const LatencyWindow* window) {
  if (last_ == start_) print(interval_heading(window != nullptr));
  print(interval_line(last_ - start_, now - start_, before_, totals, window));
}

void IntervalReport::add(Instant now, const IntervalTotals& totals, const LatencyWindow* window) {
  show(now, totals, window);
  if (window != nullptr)
    extremes_.add(*window);
  else
    extremes_.add(totals.messages - before_.messages, payload_bps(before_, totals, now - last_));
  before_ = totals;
  last_ = now;
  while (next_ <= now) next_ += every_;
}

void IntervalReport::finish(Instant now, const IntervalTotals& totals,
                            const LatencyWindow* window) {
  if (every_ == Duration{} || totals.messages == before_.messages) return;
  show(now, totals, window);
}

std::optional<IntervalExtremes> IntervalReport::extremes() const noexcept {
  if (extremes_.count == 0) return std::nullopt;
  return extremes_;
}

}  // namespace lw::gen
