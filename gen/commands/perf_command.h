// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/html_report.h"
#include "app/verdicts.h"
#include "config/experiment/profile.h"
#include "gen/app/common_run.h"
#include "gen/commands/network_perf.h"
#include "gen/network/network_report.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/report/perf_plots.h"
#include "gen/perf/traffic/perf_run.h"
#include "gen/questions.h"

namespace lw::gen {

/// The options of `roce-gen perf`.
struct PerfCommand {
  PerfOptions options;
  EndpointOptions endpoint;
  PeerOptions peer;
  NetworkOptions network;
  app::Verdicts verdicts{kPerfQuestions};
  app::HtmlReport html;
  PerfPlots plots;
  std::string pcap;
  std::vector<std::string> points;  // capture points for `pcap`
  bool sim = false, all_sizes = false, json = false;
  bool forever = false;  // repeat the run until a signal
  bool headed = false;   // the header of the report is printed

  bool live = false;                  // show the live view
  bool waits = false;                 // hold the report back until the live view ends
  std::string waiting;                // the report that is held back
  std::function<void()> close_files;  // called before the last report is judged

  config::ExperimentParameters sweep;  // options, each with the values to run
  std::string out;                     // folder of the sweep's files
  std::uint32_t repeats = 1;           // runs of each combination
  app::Verdicts of_sweep{kExperimentQuestions};

  std::string verify = kVerifyNames.front();
  std::string data;   // file that the messages carry
  std::string study;  // folder for the study of buffers
  std::string series;
  Duration interval{0};             // between lines of a run in real time; 0: none
  Duration most_skew = kUsualSkew;  // of the starts in a common run

  /// What is measured; with rping a latency.
  [[nodiscard]] perf::PerfPattern pattern() const noexcept {
    return peer.cm.empty() ? options.pattern : perf::PerfPattern::lat;
  }
  [[nodiscard]] bool latency() const noexcept { return is_latency(pattern()); }
  /// The report whose figures --expect names.
  [[nodiscard]] const JsonOutput& judged_output() const noexcept {
    return network.network.empty() ? output_of(pattern()) : kNetworkOutput;
  }
  [[nodiscard]] const perf::PerfConfig& config() const noexcept { return options.config; }
};

/// Returns the error "OPTION: WHY".
std::unexpected<Error> refuse(const std::string& option, const std::string& why);

/// Checks that the given options of `roce-gen perf` may be combined. Errors name the remedy.
Result<void> check_usage(const app::Given& given, const PerfCommand& command);

}  // namespace lw::gen
