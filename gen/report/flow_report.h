// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "core/figure.h"
#include "gen/receive/measurement.h"
#include "gen/stats/run_stats.h"

namespace lw::gen {

struct Verdict;

/// A flow of a profile of which no frame came.
struct AbsentFlow {
  std::uint32_t id = 0;  // in the profile
  ReceiveFlow expected;  // its stream, with all counters 0
};
/// Returns the absent flows in the profile's order. A flow that is not signed came if a stream has
/// its addresses, QP and role.
std::vector<AbsentFlow> absent_flows(const config::FlowProfile& profile,
                                     const Measurement& measurement);

/// Names of signed flows, indexed by flow id.
using FlowNames = std::vector<std::string>;
FlowNames names_in(const config::FlowProfile& profile);

/// Display name of a flow: the profile's name, "flow 3", or "RC request QP 0x12".
std::string name_of(const ReceiveFlow& flow, const FlowNames& names);
/// Source and destination address, as text.
std::string source_of(const ReceiveFlow& flow);
std::string destination_of(const ReceiveFlow& flow);

/// Returns the value of a metric for one flow: ns for times, otherwise a share of the expected
/// frames, in [0, 1]. Nothing if the flow has no such value (latency without signatures).
std::optional<double> value_of(const ReceiveFlow& flow, config::FlowMetric metric);

/// What came of a flow.
struct FlowRow {
  const ReceiveFlow* flow = nullptr;
  std::string name;
  std::optional<std::uint64_t> sent = {}, never_came = {};  // where the sender measures
  bool valid_latency = true;                                // false: its latencies mean nothing
  std::string sender = {}, receiver = {};                   // hosts of a common run

  /// The figures that payloads alone show.
  static const FigureTable& arrivals();
  static const FigureTable& figures();
};
/// A row for each flow that came, and then for each that did not.
std::vector<FlowRow> flow_rows(const Measurement& measurement, const FlowNames& names,
                               std::span<const AbsentFlow> absent);

/// What `receive` prints as JSON.
struct ReceiveSummary {
  const ReceiveReport& report;
  const Measurement& measurement;
  std::vector<FlowRow> flows;
  const Verdict* verdict = nullptr;  // null: nothing was expected

  static const FigureTable& figures();
};
inline constexpr JsonOutput kReceiveOutput{.name = "receive",
                                           .title = "roce-gen receive --json",
                                           .figures = &ReceiveSummary::figures,
                                           .judged = true};

/// Measured objects: whole frames, or their payloads, which have no ICRC and no CE mark.
enum class Measured : std::uint8_t { frames, payloads };

/// Formats a table with a row per flow, and a second table if there are latencies; for payloads,
/// only if latencies are meaningful. Lists at most `most` flows and counts the others; `absent`
/// flows come last.
std::string flow_table(const Measurement& measurement, const FlowNames& names, std::size_t most,
                       Measured measured = Measured::frames,
                       std::span<const AbsentFlow> absent = {});

/// Formats latency histograms as CSV, "flow,first,last,count": the buckets [first, last] in ns that
/// are not empty. Bucket bounds are fixed, so files are merged by adding the counts of equal
/// buckets.
std::string histogram_csv(const Measurement& measurement, const FlowNames& names);

/// Formats the results of the reception as text. `absent`: expected flows that did not come.
std::string to_text(const ReceiveReport& report, const Measurement& measurement,
                    const FlowNames& names, std::span<const AbsentFlow> absent);

}  // namespace lw::gen
