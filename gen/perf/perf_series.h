// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fstream>
#include <string>

#include "core/error.h"
#include "sim/simulation.h"

namespace lw::gen {

/// What each QP of a simulated client is at, over time, as CSV: a row a QP each 100 us of virtual
/// time in which packets leave. Columns: `time_us`, `qp`, `rate_gbps` (what congestion control
/// allows; empty where nothing limits), `alpha` (in 1024ths), `outstanding` (PSNs not
/// acknowledged), `retransmitted` (packets so far), `rtt_us` (smoothed; 0 before the first).
class PerfSeries {
 public:
  /// An empty path: nothing is written. Errors (environment): the file.
  static Result<PerfSeries> open(const std::string& path);

  /// Before a run; what else listens to the client's line goes on listening. This outlives the
  /// run.
  void attach(sim::Simulation& simulation, std::uint32_t qps);
  /// Errors (environment): not all could be written.
  Result<void> close();

 private:
  void sample(Instant at, sim::Host& client, std::uint32_t qps);
  std::string path_;
  std::ofstream file_;
  Instant next_;
};

}  // namespace lw::gen
