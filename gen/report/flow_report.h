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

/// What came of a flow.
struct FlowRow {
  const ReceiveFlow* flow = nullptr;
  std::string name;
  bool absent = false;                  // no frame of it came
  std::optional<std::uint64_t> sent{};  // frames that were sent, where it is known
  std::optional<std::uint64_t>
      missing{};              // of these, those that never came, the last ones included
  std::string unknown_end{};  // why nobody can tell whether the last frames came; empty: one can
  bool shares_psns = false;   // with other streams: its gaps may be theirs
  bool valid_latency = true;  // false: its latencies mean nothing
  std::string sender = {}, receiver = {};  // hosts of a common run

  /// Frames that never came, as far as it is known.
  [[nodiscard]] std::uint64_t lost() const noexcept {
    return missing.value_or(knows_loss() ? flow->order.lost : 0);
  }
  [[nodiscard]] bool knows_loss() const noexcept { return missing.has_value() || !shares_psns; }
  /// Distinct frames that were to come, as far as it is known.
  [[nodiscard]] std::uint64_t due() const noexcept;

  /// The figures that payloads alone show.
  static const FigureTable& arrivals();
  static const FigureTable& figures();
};
/// Why a row does not know its loss.
inline constexpr std::string_view kSharedPsns =
    "its PSNs are those of an end-to-end context that other QPs use, too";
/// A row for each flow that came, and then for each that did not.
std::vector<FlowRow> flow_rows(const Measurement& measurement, const FlowNames& names,
                               std::span<const AbsentFlow> absent);

/// What `receive` prints as JSON.
struct ReceiveSummary {
  const ReceiveReport& report;
  const Measurement& measurement;
  const FlowNames& names;
  std::vector<FlowRow> flows;

  static const FigureTable& figures();
};
inline constexpr JsonOutput kReceiveOutput{.name = "receive",
                                           .title = "roce-gen receive --json",
                                           .figures = &ReceiveSummary::figures,
                                           .judged = true,
                                           .version = 2};

/// Measured objects: whole frames, or their payloads, which have no ICRC and no CE mark.
enum class Measured : std::uint8_t { frames, payloads };

/// Formats a table with a row per flow, and a second table if there are latencies; for payloads,
/// only if latencies are meaningful. Lists at most `most` flows and counts the others.
std::string flow_table(const Measurement& measurement, std::span<const FlowRow> flows,
                       std::size_t most, Measured measured = Measured::frames);

/// Formats latency histograms as CSV, "flow,first,last,count": the buckets [first, last] in ns that
/// are not empty. Bucket bounds are fixed, so files are merged by adding the counts of equal
/// buckets.
std::string histogram_csv(const Measurement& measurement, const FlowNames& names);

/// Formats the results of the reception as text.
std::string to_text(const ReceiveSummary& summary);

}  // namespace lw::gen
