// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/figure.h"
#include "core/machine.h"
#include "core/question.h"
#include "gen/perf/report/interval_report.h"
#include "gen/perf/report/perf_settings.h"
#include "perf/config.h"
#include "perf/result.h"
#include "report/figures/json.h"
#include "report/run_rows.h"

namespace lw::gen {

/// Meaning of a figure of simulated and real runs, for each report of such a run.
inline constexpr std::string_view kIncompleteMeaning =
    "True if a signal ended the run early; absent otherwise.";

/// Result of a run with one message size, simulated or real.
struct PerfOutcome {
  perf::BandwidthResult bandwidth;  // of a bandwidth run
  perf::LatencyResult latency;
  std::uint64_t wrong = 0;  // messages received with wrong bytes
  /// UC and UD: messages that were sent but didn't arrive completely.
  std::optional<std::uint64_t> lost_messages = {};
  /// UC: the number of arrived messages is unknown, so all rates are those of sent messages.
  bool arrivals_unknown = false;
  // What the run went through; without both, it was simulated.
  std::optional<MeasuredPort> port = {};
  std::optional<MeasuredDevice> device = {};
  std::optional<Machine> machine = {};             // with a port or a device
  std::optional<IntervalExtremes> intervals = {};  // with --interval
  double cpu_share = 0;  // share of one core used by this process; 0 in a simulation

  /// Returns true if a signal ended the run early.
  [[nodiscard]] bool incomplete() const noexcept { return bandwidth.stopped || latency.stopped; }
  [[nodiscard]] std::uint64_t failed() const noexcept {
    return std::max(bandwidth.failed, latency.failed);
  }
  [[nodiscard]] bool simulated() const noexcept { return !port && !device; }
  /// The first completion in error.
  [[nodiscard]] const std::optional<perf::Failure>& failure() const noexcept {
    return bandwidth.failure ? bandwidth.failure : latency.failure;
  }
  /// QPs that wait for ever.
  [[nodiscard]] std::uint32_t stuck_qps() const noexcept {
    return latency.stuck ? 1 : bandwidth.stuck_qps;
  }
};

/// Settings and figures of a run, as JSON has them.
struct PerfReport {
  const perf::PerfConfig& config;
  const PerfOutcome& outcome;
  perf::PerfPattern pattern{};

  /// The settings; the figures depend on `pattern`.
  static const FigureTable& figures();
};
const JsonOutput& output_of(perf::PerfPattern pattern) noexcept;
/// Returns settings and figures by name.
report::Json perf_values(const PerfReport& report);
/// Adds what the run observed of kPerfQuestions. `endless`: it was to run until a signal.
void observe_perf(Judge& judge, const PerfReport& report, bool endless = false);
/// The rows of a run's page.
report::RunRows page_rows(const PerfReport& report);
/// The line of JSON, without the verdict.
std::string perf_json(const PerfReport& report);

/// Returns the heading of the rows. perftest's columns come first, so that its users and scripts
/// can read them. The last column of bandwidths, which perftest doesn't have, is the steady rate,
/// without the start of the run; "BW peak" is the rate of the better half. Both are "-" if the run
/// was too short.
std::string perf_heading(perf::PerfPattern pattern);
/// Returns a row of figures, and lines that say what it leaves open: messages that didn't arrive,
/// an early end, an unknown steady rate.
std::string perf_row(const PerfReport& report);
/// "12 work requests failed; the first at 1.2 ms on QP 3 of the client: retry exceeded".
/// `host`: the name of that of the first one, if it is none of these two.
std::string failure_text(std::uint64_t failed, const std::optional<perf::Failure>& first,
                         std::string_view host = {});
/// "3 messages arrived with other bytes than were sent".
std::string wrong_text(std::uint64_t wrong);

}  // namespace lw::gen
