// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "core/figure.h"
#include "core/time.h"
#include "gen/receive/measurement.h"
#include "gen/report/flow_report.h"
#include "gen/stats/run_stats.h"
#include "report/judgement.h"

namespace lw::gen {

/// Result of checking a run against the profile's [expect].
struct Verdict {
  /// What is wrong and no expectation is about. `of`: name of the flow; empty: all flows.
  struct Failure {
    std::string of, what;
  };

  std::vector<report::Judgement> judgements;  // one for each expectation of a metric, and flow
  std::vector<Failure> failures;
  std::vector<std::string> unchecked;   // keys for which this run has no values
  std::vector<std::string> not_judged;  // what this run can't check, with the reason

  [[nodiscard]] bool holds() const;
  /// A sentence for each failure.
  [[nodiscard]] std::vector<std::string> failed() const;
  /// A sentence for each judgement that does not hold, and for each failure.
  [[nodiscard]] std::vector<std::string> broken() const;
  static const FigureTable& figures();
};

/// The failures as cases for JUnit.
std::vector<report::TestCase> cases_of(const Verdict& verdict);

/// Checks every received flow against the bounds that a receiver can check. A bound on loss also
/// requires every signed flow of the profile to arrive. `sent` may be null; it gives the number of
/// frames sent, so that loss at the end of a flow counts too.
void judge_received(Verdict& verdict, const config::FlowProfile& profile,
                    const Measurement& measurement, const RunReport* sent);

/// True if the profile bounds the loss, and the bounds allow this share of the frames.
bool allows_loss(const config::FlowProfile& profile, double share);

/// Adds a failure for each flow that did not come, unless judge_received() has added it.
void judge_absent(Verdict& verdict, const config::FlowProfile& profile,
                  std::span<const AbsentFlow> absent);

/// Adds a failure if the receiving ports lost frames, because their flows are unknown.
void judge_missed(Verdict& verdict, std::uint64_t missed);

/// Checks the sender's rates, unsent frames and pacing.
void judge_sent(Verdict& verdict, const config::FlowProfile& profile, const RunReport& sent);

/// Adds to `unchecked` the bounds that were not checked, because the run did not send or receive.
void note_unchecked(Verdict& verdict, const config::FlowProfile& profile, bool sent, bool received);

/// Formats as text what the judgements do not say.
std::string to_text(const Verdict& verdict);

/// Number of the flow's signed frames that were sent and not received, in any order.
std::uint64_t lost_of(const ReceiveFlow& flow, const FlowCounters& sent);

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

/// Summary of a run: frames sent, frames received, and the profile's expectations.
class RunSummary {
 public:
  /// `received` may be null. All arguments must outlive the summary.
  RunSummary(const config::FlowProfile& profile, const RunReport& sent,
             const Measurement* received);

  /// True if every frame was sent, no port lost one, the run was not interrupted, every checked
  /// outgoing ICRC was right, some of each flow was received, and every bound held.
  [[nodiscard]] bool good() const;

  [[nodiscard]] const Verdict& verdict() const noexcept { return verdict_; }
  /// Adds a failure of the whole run.
  void add_failure(std::string what) { verdict_.failures.push_back({"", std::move(what)}); }
  /// Formats the summary as text.
  [[nodiscard]] std::string text() const;
  [[nodiscard]] const RunReport& sent() const noexcept { return sent_; }
  /// A row for each [[flow]]. One of several QPs lists them under `qps`.
  [[nodiscard]] std::vector<SentFlow> flows() const { return sent_flows(sent_, profile_); }
  /// Nothing if nothing was to be received.
  [[nodiscard]] std::optional<ReturnedFrames> returned() const;
  /// Null if nothing was expected, and nothing failed.
  [[nodiscard]] const Verdict* judged() const;
  static const FigureTable& figures();

 private:
  const config::FlowProfile& profile_;
  const RunReport& sent_;
  const Measurement* received_;
  std::vector<AbsentFlow> absent_;
  Verdict verdict_;
};

inline constexpr JsonOutput kSendOutput{.name = "send",
                                        .title = "roce-gen run --json",
                                        .figures = &RunSummary::figures,
                                        .judged = true,
                                        .version = 2};

}  // namespace lw::gen
