// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/machine.h"
#include "core/output.h"
#include "core/time.h"
#include "core/verdict.h"
#include "gen/report/flow_report.h"
#include "gen/report/live_page.h"
#include "gen/stats/run_stats.h"
#include "report/live_view.h"
#include "report/rate_history.h"

namespace lw::gen {

/// Counters of one flow since the start of the run.
struct FlowProgress {
  std::string name = {};
  bool is_sent = false, is_received = false;
  std::uint64_t sent_frames = 0, sent_wire_bytes = 0, not_sent = 0;
  std::uint64_t received_frames = 0, received_bytes = 0;
  std::uint64_t lost = 0, duplicated = 0, out_of_order = 0, bad_icrc = 0, ce_marks = 0;
  std::uint64_t latencies = 0;  // number of latency samples
  double latency_sum_ns = 0;
  std::int64_t latency_max_ns = 0;
  const Histogram* latency = nullptr;  // of the measurement; valid until its next frame
  std::int64_t p99_ns =
      0;  // of the live page, whose threads cannot read `latency`; 0: not computed

  /// Adds another flow's counters, without `latency`. The sum's p99 is that of the worst flow.
  FlowProgress& operator+=(const FlowProgress& flow);
};

/// Largest number of flows for which quantiles are computed. A quantile reads a whole histogram;
/// for thousands of received flows that would stall the loop.
constexpr std::size_t kMostQuantiles = 256;

/// Returns the progress of all flows: first the sent flows in the profile's order, with their
/// received frames; then other received flows. `sent` and `received` may be null.
std::vector<FlowProgress> progress_of(const FlowNames& names, const std::vector<FlowCounters>* sent,
                                      const Measurement* received);

/// Returns the sum of all flows, without a histogram.
FlowProgress total_of(const std::vector<FlowProgress>& flows);

struct ProgressOptions {
  std::string series;                           // path of a CSV file; empty: none
  Duration interval = std::chrono::seconds(1);  // of the series
  bool quiet = false;                           // show nothing on standard error
  bool live = false;                            // show the live view
  std::string title = {};                       // of the live view
  web::SiteOptions web = {};                    // of the live page
  report::RateHistory* history = nullptr;       // of rate_history(), to be filled; null: none
  bool knows_sender = false;                    // what is lost is a failure, and not only shown
  /// Adds to the last figures what is known at the end only, such as frames that never came behind
  /// the last one of a flow; may be empty.
  std::function<void(std::vector<FlowProgress>&)> at_end = {};
};

/// Returns the rates over time of a run that sends, receives, or does both.
report::RateHistory rate_history(bool sends, bool receives);

/// Figures for a display at one time.
struct ProgressNow {
  Duration elapsed{};                       // since the start
  std::optional<Duration> left = {};        // until the run ends, if known
  Duration span{};                          // since `before`
  const std::vector<FlowProgress>& flows;   // now
  const std::vector<FlowProgress>& before;  // at the last update of the display
  PacingSoFar pacing = {};                  // of the sender
  Verdict verdict = {};                     // so far
  bool ended = false;                       // true for the last figures
};

/// Options of the commands that measure what they receive.
struct MeasureChoices {
  MeasureOptions measure;
  std::string histogram;  // path of a CSV file; empty: none
  ProgressOptions progress;
};

/// Shows a run's progress (report::LiveView) on standard error and on a live page, and writes a
/// time series. The caller's loop calls show() if due() is true; it passes the time.
class ProgressDisplay {
 public:
  /// Makes the contents of the view. The default is flow_model().
  using Model = std::function<report::LiveModel(const ProgressNow&)>;

  /// Errors: environment (the series file can't be opened), those of LivePage::open().
  static Result<ProgressDisplay> open(const ProgressOptions& options,
                                      const LiveSubject& subject = {});

  void set_model(Model model) { model_ = std::move(model); }
  /// Sets what this machine lost so far.
  void set_losses(std::vector<OwnLoss> losses) { losses_ = std::move(losses); }
  void start(Instant now);
  [[nodiscard]] bool due(Instant now) const noexcept {
    return view_->due(now) || series_due(now) || now >= next_page_ || history_due(now);
  }
  /// `left`: time until the run ends, if known. `received` may be null; its latencies must be
  /// counted.
  void show(Instant now, const std::vector<FlowProgress>& flows, std::optional<Duration> left,
            const Measurement* received, const PacingSoFar& pacing = {});
  /// Writes the rows of the last, shorter interval, shows the last figures (also on the live page),
  /// and ends the view. A write error of the series is reported at the program's end.
  void finish(Instant now, std::vector<FlowProgress> flows, const Measurement* received,
              const PacingSoFar& pacing = {});

 private:
  /// State of the flows at the last update.
  struct Last {
    Instant at{};
    std::vector<FlowProgress> flows = {};
  };

  explicit ProgressDisplay(const ProgressOptions& options);
  [[nodiscard]] bool series_due(Instant now) const noexcept { return series_ && now >= next_; }
  [[nodiscard]] bool history_due(Instant now) const noexcept {
    return options_.history != nullptr && options_.history->due(now - start_);
  }
  [[nodiscard]] Verdict verdict_at(Instant now, const std::vector<FlowProgress>& flows,
                                   const PacingSoFar& pacing, bool ended) const;
  void write_rows(Instant now, const std::vector<FlowProgress>& flows);

  ProgressOptions options_;
  std::unique_ptr<report::LiveView> view_;
  Model model_;
  std::optional<OutputFile> series_;
  std::optional<LivePage> page_;
  std::vector<OwnLoss> losses_;
  Instant start_{}, next_{};
  Instant next_page_ = Instant::max();
  Last shown_, written_;
};

/// Returns the header line of the time series.
std::string series_header();
/// Returns a row of the time series: changes of one flow from `from` to `to`. Times count from the
/// run's start.
std::string series_row(Duration from, Duration to, const FlowProgress& flow,
                       const FlowProgress& before);

}  // namespace lw::gen
