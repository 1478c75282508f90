// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gen/perf/report/perf_report.h"
#include "report/live_view.h"
#include "sim/simulation.h"

namespace lw::gen {

/// The live view of simulated perf runs, one after another.
class PerfView {
 public:
  /// Shows nothing unless `live`. `sizes`: number of runs.
  PerfView(std::string title, bool live, std::size_t sizes);
  PerfView(const PerfView&) = delete;
  PerfView& operator=(const PerfView&) = delete;

  /// True if the view uses the screen: then the report must wait until end().
  [[nodiscard]] bool on_screen() const noexcept { return view_.on_screen(); }
  /// Call it before a run. `config` and the view must outlive the run. Other listeners of the links
  /// stay attached.
  void attach(sim::Simulation& simulation, const perf::PerfConfig& config);
  /// Call it after the run of `config`.
  void add(const perf::PerfConfig& config, const PerfOutcome& outcome);
  /// Shows the last figures and ends the view.
  void end();

 private:
  /// Counters of a running simulation.
  struct Counts {
    Instant at{};  // simulated time
    std::uint64_t messages = 0, bytes = 0, packets = 0, retransmitted = 0, timeouts = 0;
  };
  void update(sim::Simulation& simulation, const perf::PerfConfig& config, Instant at);
  static Counts counts_of(sim::Simulation& simulation, const perf::PerfConfig& config, Instant at);
  [[nodiscard]] report::LiveModel model(const perf::PerfConfig& config, const Counts& now);
  [[nodiscard]] report::LiveModel last_model() const;
  [[nodiscard]] report::LiveSection results() const;

  std::string title_;
  std::size_t sizes_;
  report::LiveView view_;
  Counts before_;
  report::Sparkline trend_;
  std::uint64_t calls_ = 0;
  std::vector<std::vector<std::string>> rows_;  // of finished runs, newest first
  std::string last_line_;
};

}  // namespace lw::gen
