// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "config/flow/profile.h"
#include "core/time.h"
#include "gen/receive/measurement.h"
#include "gen/stats/run_stats.h"
#include "report/junit.h"

namespace lw::gen {

/// Result of checking a run against the profile's [expect].
struct Verdict {
  std::vector<std::string> broken;      // "write-ipv4: p99 is 2.1 ms, expected <= 2 ms"
  std::vector<std::string> unchecked;   // keys for which this run has no values
  std::vector<std::string> not_judged;  // what this run can't know, with the reason
  std::vector<report::TestCase> cases;  // a case for each bound and flow, and for what is broken

  [[nodiscard]] bool holds() const noexcept { return broken.empty(); }
  /// Adds what is broken in a flow, or in all of them, without a bound of its own.
  void add_broken(const std::string& flow, const std::string& what);
};

/// Checks every received flow against the bounds that a receiver can check. A bound on loss also
/// requires every signed flow of the profile to arrive. `sent` may be null; it gives the number of
/// frames sent, so that loss at the end of a flow counts too.
void judge_received(Verdict& verdict, const config::FlowProfile& profile,
                    const Measurement& measurement, const RunReport* sent);

/// Adds frames that the receiving ports lost: what they were can't be judged.
void judge_missed(Verdict& verdict, std::uint64_t missed);

/// Checks the sender's rates, unsent frames and pacing.
void judge_sent(Verdict& verdict, const config::FlowProfile& profile, const RunReport& sent);

/// Adds to `unchecked` the bounds that were not checked, because the run did not send or receive.
void note_unchecked(Verdict& verdict, const config::FlowProfile& profile, bool sent, bool received);

/// Lines for people; empty if the profile has no [expect] and there is nothing else to say.
std::string to_text(const Verdict& verdict, const config::FlowProfile& profile);
nlohmann::ordered_json to_json(const Verdict& verdict);

/// Number of the flow's signed frames that were sent and not received, in any order.
std::uint64_t lost_of(const ReceiveFlow& flow, const FlowCounters& sent);

/// The rate that the profile asks of a [[flow]], all its QPs together. `flow`: any of them.
std::string asked_rate(const config::Flow& flow);

/// A line for frames that the port did not take, and one for those that it lost; may be empty.
std::string to_text(const PortLosses& port);
nlohmann::ordered_json to_json(const PortLosses& port);

/// A table for people: a row per [[flow]], its QPs together, and the sum.
std::string to_text(const RunReport& run, const config::FlowProfile& profile);
/// Like to_text(), as JSON; a [[flow]] of several QPs lists them under `qps`.
nlohmann::ordered_json to_json(const RunReport& run, const config::FlowProfile& profile);

/// The end of a run: frames sent, frames received, and the profile's expectations.
class RunSummary {
 public:
  /// `received` may be null. All arguments must outlive the summary.
  RunSummary(const config::FlowProfile& profile, const RunReport& sent,
             const Measurement* received);

  /// True if every frame was sent, no port lost one, the run was not interrupted, every checked
  /// outgoing ICRC was right and every bound held.
  [[nodiscard]] bool good() const;

  [[nodiscard]] const Verdict& verdict() const noexcept { return verdict_; }
  /// Several lines for people.
  [[nodiscard]] std::string text() const;
  /// One line of JSON.
  [[nodiscard]] std::string json() const;

 private:
  const config::FlowProfile& profile_;
  const RunReport& sent_;
  const Measurement* received_;
  Verdict verdict_;
};

}  // namespace lw::gen
