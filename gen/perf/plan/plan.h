// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/time.h"
#include "perf/batch_means.h"
#include "perf/config.h"
#include "sim/perf.h"

namespace lw::gen {

/// The limit of a transfer.
enum class PlanLimit : std::uint8_t {
  line,
  receiver,
  tx_depth,
  outstanding_wqes,
  reads,
  psn_window,
  messages,  // the least time between two of a QP
  none       // nothing gets through
};

std::string_view name_of(PlanLimit limit) noexcept;  // "tx depth"

/// Where a figure is from: of a formula that holds exactly, or of a simulated run.
enum class PlanSource : std::uint8_t { none, computed, simulated };

/// A rate of payload.
struct PlanRate {
  PlanSource source = PlanSource::none;
  double bps = 0;                                   // not with PlanSource::none
  std::optional<perf::RateInterval> interval = {};  // 95 %, of a run with random losses
  std::string unknown = {};  // with PlanSource::none: why it is neither computed nor simulated

  [[nodiscard]] bool known() const noexcept { return source != PlanSource::none; }
};

/// A loss that costs a tenth of the rate: it is between these two, by simulated runs.
struct LossRange {
  double low = 0, high = 0;
};

/// The requirements of a path on its endpoints. docs/reference/roce-gen-plan.md has the formulas.
struct Plan {
  // Computed.
  Duration round_trip{};         // NICs included
  double bdp_bytes = 0;          // round trip x link rate
  double goodput_bps = 0;        // payload that the link carries in messages of this size
  std::uint64_t needed = 0;      // outstanding messages that fill the link
  std::uint64_t configured = 0;  // messages that may be outstanding, all QPs together
  std::uint64_t qps_needed = 0;  // number of QPs with the configured window of a QP
  double in_flight = 0;          // packets that the windows, or the link, hold in a round trip
  // Computed or simulated.
  PlanRate lossless;               // of this configuration without losses
  PlanRate throughput;             // with the losses of the path
  std::optional<PlanLimit> limit;  // without losses
  std::string breaks;              // what failed in a simulated run; empty: nothing
  // Simulated, if it is asked for.
  std::optional<LossRange> tenth;

  /// Packets sent in a round trip at the lossless rate.
  [[nodiscard]] std::optional<double> window_packets(const perf::PerfConfig& config) const;
};

/// Work requests that a simulated run of a plan may post at once: one takes 101 bytes.
inline constexpr std::uint64_t kMostPlannedRequests = std::uint64_t{1} << 24;
/// Packets that the path of a simulated run of a plan may hold at once: one takes 131 bytes.
inline constexpr std::uint64_t kMostPlannedInFlight = std::uint64_t{1} << 24;

/// Computes the figures that have an exact form; those of Plan::lossless and throughput only where
/// they have one.
Plan computed_plan(const perf::PerfConfig& config);
/// Computes what has an exact form, and simulates the rest, with the simulator of `roce-gen sim`
/// and so with its results. A run takes up to config.most_packets packets, and as many again where
/// QPs without a timer may wait for ever. `hook`: called before each run; config.stop ends it.
/// `find_loss`: also searches Plan::tenth, by up to 24 runs.
Plan plan(const perf::PerfConfig& config, bool find_loss, const sim::PerfHook& hook);

}  // namespace lw::gen
