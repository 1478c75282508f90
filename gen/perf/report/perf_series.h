// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <fstream>
#include <string>

#include "core/error.h"
#include "sim/simulation.h"

namespace lw::gen {

/// State of a client's QPs over time, as CSV: a row per QP each 100 us, when packets leave
/// (simulated) or the client polls (real time). Columns:
/// `time_us`, `qp`, `rate_gbps` (allowed by congestion control; empty: no limit),
/// `alpha` (in 1024ths), `outstanding` (PSNs not acknowledged), `retransmitted` (packets so far),
/// `rtt_us` (smoothed; 0 before the first).
class PerfSeries {
 public:
  /// An empty path writes nothing. Errors (environment): the file can't be written.
  static Result<PerfSeries> open(const std::string& path);

  /// Whether a file is written.
  [[nodiscard]] bool kept() const noexcept { return !path_.empty(); }
  /// Call before a simulated run, which this outlives. Keeps the link's other listener.
  void attach(sim::Simulation& simulation, std::uint32_t qps);
  /// Whether rows are due. `at`: time since the run's start; a smaller value starts another run.
  bool due(Instant at) noexcept;
  /// Adds a row.
  void add(Instant at, std::uint32_t qp, const transport::QueuePair& pair);
  /// Errors (environment): the file is incomplete.
  Result<void> close();

 private:
  std::string path_;
  std::ofstream file_;
  Instant next_, last_;
};

}  // namespace lw::gen
