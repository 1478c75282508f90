// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "app/html_report.h"
#include "app/verdicts.h"
#include "config/experiment/profile.h"
#include "gen/experiment/sweep.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/report/perf_plots.h"
#include "gen/perf/traffic/perf_run.h"
#include "gen/questions.h"

/// What `roce-gen perf` and `roce-gen sim` share: options of output and sweeps, and the runs of all
/// sizes and combinations, whatever measures one of them.
namespace lw::gen {

/// The options that both commands have, and the state of their report.
struct PerfRuns {
  std::string name;        // "roce-gen sim"
  bool simulated = false;  // in virtual time
  PerfOptions options;
  app::Verdicts verdicts{kPerfQuestions};
  app::HtmlReport html;
  PerfPlots plots;
  std::string pcap, series;
  Duration interval{0};  // between lines of a run; 0: none
  bool all_sizes = false, json = false;
  bool forever = false;  // repeat the run until a signal
  bool pings = false;    // whole pings of rping, whatever --pattern says
  bool headed = false;   // the header of the report is printed

  bool waits = false;                 // hold the report back until the live view ends
  std::string waiting;                // the report that is held back
  std::function<void()> close_files;  // called before the last report is judged

  config::ExperimentParameters sweep;  // options, each with the values to run
  std::string out;                     // folder of the sweep's files
  std::uint32_t repeats = 1;           // runs of each combination
  app::Verdicts of_sweep{kExperimentQuestions};

  /// What is measured.
  [[nodiscard]] perf::PerfPattern pattern() const noexcept {
    return pings ? perf::PerfPattern::lat : options.pattern;
  }
  [[nodiscard]] bool latency() const noexcept { return is_latency(pattern()); }
  [[nodiscard]] const perf::PerfConfig& config() const noexcept { return options.config; }
};

/// Adds the options of output, of sweeps, and --forever and --all.
void add_perf_outputs(app::Options& list, PerfRuns& runs);

/// Options that are refused if `applies`.
struct Conflict {
  bool applies = false;
  std::vector<std::string> options;
  std::string why;
};
using Conflicts = std::vector<Conflict>;

/// Error (usage): "OPTION: WHY" of the first given option that conflicts.
Result<void> check_conflicts(const app::Given& given, const Conflicts& conflicts);
/// What goes with another option of both commands, or excludes it.
Conflicts shared_conflicts(const app::Given& given, const PerfRuns& runs);
/// Returns the error "OPTION: WHY".
std::unexpected<Error> refuse(const std::string& option, const std::string& why);

/// Returns the run that the options describe. Errors: those of perf_config().
Result<perf::PerfConfig> run_config_of(const PerfRuns& runs);
/// Measures each size once or, with --forever, again and again until a signal; in a simulation each
/// time with the next seed. Judges and prints each. Errors: of a measurement.
Result<void> run_repeatedly(PerfRuns& runs, perf::PerfConfig config, const PerfMeasure& measure,
                            const std::atomic<bool>& stop);
/// Runs all combinations of --sweep, and writes their files. `through`: how, for the title. Errors:
/// of a combination, before the first run; those of a run.
Result<void> sweep_over(PerfRuns& runs, const std::string& through, const PerfMeasure& measure,
                        const std::atomic<bool>& stop);

}  // namespace lw::gen
