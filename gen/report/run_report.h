// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "core/figure.h"
#include "core/question.h"
#include "core/time.h"
#include "gen/receive/measurement.h"
#include "gen/report/flow_report.h"
#include "gen/stats/run_stats.h"

namespace lw::gen {

/// Formats a number per second: a whole one, or three digits below 100.
std::string per_second_text(double value);

/// Formats the rate that the profile requests for a [[flow]], all QPs together. `flow`: any of its
/// QPs.
std::string asked_rate(const config::Flow& flow);

/// Formats one line for frames that the port did not take, and one for frames that it lost; may be
/// empty.
std::string to_text(const PortLosses& port);

/// Formats a table: a row per [[flow]] with its QPs together, and the sum.
std::string to_text(const RunReport& run, const config::FlowProfile& profile);

/// What one QP of a flow sent.
struct SentQp {
  std::uint32_t qp = 0;
  std::size_t id = 0;
  FlowCounters counters;

  static const FigureTable& figures();
};

/// What one flow sent.
struct SentFlow {
  std::string name;
  std::string host;  // of a common run; otherwise empty
  FlowCounters counters;
  config::Rate asked, achieved;
  std::vector<SentQp> qps;

  static const FigureTable& figures();
};
/// A row for each [[flow]].
std::vector<SentFlow> sent_flows(const RunReport& run, const config::FlowProfile& profile);

/// What came back.
struct ReturnedFrames {
  const MeasureTotals& totals;
  std::vector<FlowRow> flows;

  static const FigureTable& figures();
};

/// Summary of a run: frames sent, and frames received.
class RunSummary {
 public:
  /// `received` may be null. All arguments must outlive the summary.
  RunSummary(const config::FlowProfile& profile, const RunReport& sent,
             const Measurement* received);

  /// What was observed of the questions of a run.
  void observe(Judge& judge) const;
  /// Formats the summary as text.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const RunReport& sent() const noexcept { return sent_; }
  /// A row for each [[flow]]. One of several QPs lists them under `qps`.
  [[nodiscard]] std::vector<SentFlow> flows() const { return sent_flows(sent_, profile_); }
  /// Nothing if nothing was to be received.
  [[nodiscard]] std::optional<ReturnedFrames> returned() const;
  static const FigureTable& figures();

 private:
  const config::FlowProfile& profile_;
  const RunReport& sent_;
  const Measurement* received_;
  std::vector<AbsentFlow> absent_;
  std::vector<FlowRow> rows_;  // what came back
};

inline constexpr JsonOutput kSendOutput{.name = "send",
                                        .title = "roce-gen run --json",
                                        .figures = &RunSummary::figures,
                                        .judged = true,
                                        .version = 3};

}  // namespace lw::gen
