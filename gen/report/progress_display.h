// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/output.h"
#include "core/time.h"
#include "gen/report/flow_report.h"
#include "gen/report/live_view.h"
#include "gen/stats/run_stats.h"
#include "report/progress.h"

namespace lw::gen {

/// Counters of one flow since the start of the run.
struct FlowProgress {
  std::string name;
  bool is_sent = false, is_received = false;
  std::uint64_t sent_frames = 0, sent_wire_bytes = 0, not_sent = 0;
  std::uint64_t received_frames = 0, received_bytes = 0;
  std::uint64_t lost = 0, duplicated = 0, out_of_order = 0, bad_icrc = 0, ce_marks = 0;
  std::uint64_t latencies = 0;  // number of latency samples
  double latency_sum_ns = 0;
  std::int64_t p99_ns = 0;  // 0 where there are too many flows to compute each
  std::int64_t latency_max_ns = 0;

  /// Adds another flow's counters. The sum's p99 is that of the worst flow.
  FlowProgress& operator+=(const FlowProgress& flow);
};

/// A quantile reads a whole histogram; with thousands of received flows that would stall the loop.
constexpr std::size_t kMostQuantiles = 256;

/// Sent flows first, in the profile's order, with what was received of them; then other received
/// flows. `sent` and `received` may be null.
std::vector<FlowProgress> progress_of(const FlowNames& names, const std::vector<FlowCounters>* sent,
                                      const Measurement* received);

/// Sum of all flows; its p99 is that of the worst flow.
FlowProgress total_of(const std::vector<FlowProgress>& flows);

struct ProgressOptions {
  std::string series;                           // path of a CSV file; empty: none
  Duration interval = std::chrono::seconds(1);  // of the series and the screen
  bool quiet = false;                           // show nothing on standard error
  web::SiteOptions web = {};                    // of the live page
};

/// Options of the commands that measure what they receive.
struct MeasureChoices {
  MeasureOptions measure;
  std::string histogram;  // path of a CSV file; empty: none
  ProgressOptions progress;
};

/// Shows a run's progress on standard error (a refreshed screen on a terminal, else a line every
/// 5 s) and on a live page, and writes a time series. The caller's loop asks due() and then calls
/// show(); it passes the time.
class ProgressDisplay {
 public:
  /// Errors: environment (the series file can't be opened), those of LiveView::open().
  static Result<ProgressDisplay> open(const ProgressOptions& options,
                                      const LiveSubject& subject = {});

  void start(Instant now);
  [[nodiscard]] bool due(Instant now) const noexcept { return now >= next_ || now >= next_view_; }
  /// `left`: time until the run ends, if known. `received` may be null; its latencies must be
  /// counted.
  void show(Instant now, const std::vector<FlowProgress>& flows, std::optional<Duration> left,
            const Measurement* received);
  /// Writes the rows of the last, shorter interval; leaves the screen as it is, and gives the final
  /// figures to the live page. A series that can't be written is reported at the program's end.
  void finish(Instant now, const std::vector<FlowProgress>& flows, const Measurement* received);

 private:
  explicit ProgressDisplay(const ProgressOptions& options);
  void write_rows(Instant now, const std::vector<FlowProgress>& flows);

  ProgressOptions options_;
  report::Progress display_;
  std::optional<OutputFile> series_;
  std::optional<LiveView> view_;
  Instant start_{}, last_{}, next_{};
  Instant next_view_ = Instant::max();
  std::vector<FlowProgress> before_;  // at last_
};

/// The text of the screen: counters, and rates since `before`, which was `span` ago.
std::string screen_of(Duration elapsed, std::optional<Duration> left, Duration span,
                      const std::vector<FlowProgress>& flows,
                      const std::vector<FlowProgress>& before);
/// One line with the totals; arguments as screen_of().
std::string line_of(Duration elapsed, std::optional<Duration> left, Duration span,
                    const FlowProgress& total, const FlowProgress& before);

/// The header line of the time series.
std::string series_header();
/// A row of the time series: changes of one flow from `from` to `to`, times since the run's start.
std::string series_row(Duration from, Duration to, const FlowProgress& flow,
                       const FlowProgress& before);

}  // namespace lw::gen
