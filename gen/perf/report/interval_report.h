// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/figure.h"
#include "core/time.h"
#include "perf/interval.h"

namespace lw::gen {

using perf::IntervalTotals;
using perf::LatencyWindow;

/// Least and largest figures of the whole intervals of a run: they differ where the path changes.
struct IntervalExtremes {
  std::uint64_t count = 0, empty = 0;  // whole intervals; of these, those without a message
  Duration length{};
  double least_bps = 0, most_bps = 0;  // payload of completed messages
  // of the intervals' latencies, in a latency run with messages
  Duration least_mean{}, most_mean{}, most_minimum{}, least_maximum{};

  /// Adds an interval of a bandwidth run, in which so many messages were complete.
  void add(std::uint64_t messages, double bps) noexcept;
  /// Adds an interval of a latency run.
  void add(const LatencyWindow& window) noexcept;

  static const FigureTable& bandwidth();
  static const FigureTable& latency();
};

/// A line for each interval of a run, as iperf3 prints one: rate, packets sent again,
/// losses, round trip; of a latency run the least, mean and largest latency of the interval. Off
/// by default. One thread.
class IntervalReport {
 public:
  IntervalReport() = default;
  /// `every`: 0 for no lines. `on_stderr`: standard output has JSON.
  IntervalReport(Duration every, bool on_stderr) noexcept : every_(every), on_stderr_(on_stderr) {}

  /// Begins another run.
  void start(Instant now) noexcept;
  /// Whether a line is due.
  [[nodiscard]] bool due(Instant now) const noexcept { return now >= next_; }
  /// Prints the line of the interval that ends now, and begins the next one. `totals`: of the run
  /// so far. `window`: latencies of a latency run; null otherwise.
  void add(Instant now, const IntervalTotals& totals, const LatencyWindow* window);
  /// Prints the line of the last, shorter interval, if it has any message.
  void finish(Instant now, const IntervalTotals& totals, const LatencyWindow* window);
  /// Of the run that was started last; nothing without a whole interval.
  [[nodiscard]] std::optional<IntervalExtremes> extremes() const noexcept;

 private:
  void show(Instant now, const IntervalTotals& totals, const LatencyWindow* window);
  void print(const std::string& line) const;

  Duration every_{0};
  bool on_stderr_ = false;
  Instant start_{}, last_{}, next_ = Instant::max();
  IntervalTotals before_;
  IntervalExtremes extremes_;
};

/// "60 whole intervals of 1 s: 3.60 to 8.09 Gb/s", or the latencies' means and extremes.
std::string extremes_line(const IntervalExtremes& extremes, bool latency);
/// The heading, and the line of an interval from `from` to `to` after the start of the run.
std::string interval_heading(bool latency);
std::string interval_line(Duration from, Duration to, const IntervalTotals& before,
                          const IntervalTotals& after, const LatencyWindow* window);

}  // namespace lw::gen
