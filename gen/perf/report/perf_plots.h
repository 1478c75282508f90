// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gen/perf/report/perf_report.h"
#include "report/plot.h"
#include "report/plot_curves.h"

namespace lw::gen {

/// Collects the results of each message size for the plots of a run: bandwidth over size, or
/// latency as histograms and percentiles.
class PerfPlots {
 public:
  /// `size` in bytes; `link_bps` of a simulation, otherwise 0. A run that failed before its first
  /// message is left out.
  void add(std::uint32_t size, const PerfOutcome& outcome, double link_bps);
  [[nodiscard]] std::vector<report::Plot> plots() const;

 private:
  struct Bandwidth {
    std::uint32_t size = 0;
    double average_bps = 0, steady_bps = 0, peak_bps = 0, link_bps = 0;
  };
  struct Latency {
    std::uint32_t size = 0;
    std::vector<std::int64_t> percentiles_ns;
    std::vector<Histogram::Bucket> buckets;
  };
  [[nodiscard]] report::Plot bandwidth_plot() const;
  [[nodiscard]] report::Plot histogram_plot() const;
  [[nodiscard]] report::Plot percentile_plot() const;

  std::vector<Bandwidth> bandwidth_;
  std::vector<Latency> latency_;
};

}  // namespace lw::gen
