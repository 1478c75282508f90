// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fstream>
#include <string>

#include "core/error.h"
#include "sim/simulation.h"

namespace lw::gen {

/// What each QP of a client is at, over time, as CSV: a row a QP each 100 us of virtual time in
/// which packets leave; in real time each 100 us, or as soon after as the client looks. Columns:
/// `time_us`, `qp`, `rate_gbps` (what congestion control allows; empty where nothing limits),
/// `alpha` (in 1024ths), `outstanding` (PSNs not acknowledged), `retransmitted` (packets so far),
/// `rtt_us` (smoothed; 0 before the first).
class PerfSeries {
 public:
  /// An empty path: nothing is written. Errors (environment): the file.
  static Result<PerfSeries> open(const std::string& path);

  /// Whether anything is written.
  [[nodiscard]] bool kept() const noexcept { return !path_.empty(); }
  /// Before a simulated run; what else listens to the client's line goes on listening. This
  /// outlives the run.
  void attach(sim::Simulation& simulation, std::uint32_t qps);
  /// Whether rows are due; `at` is the time since a run began, an earlier one than before where
  /// another run has.
  bool due(Instant at) noexcept;
  /// A row.
  void add(Instant at, std::uint32_t qp, const transport::QueuePair& pair);
  /// Errors (environment): not all could be written.
  Result<void> close();

 private:
  std::string path_;
  std::ofstream file_;
  Instant next_, last_;
};

}  // namespace lw::gen
