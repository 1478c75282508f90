// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/html_report.h"
#include "app/verdicts.h"
#include "config/flow/questions.h"
#include "core/error.h"
#include "core/output.h"
#include "gen/app/device_flows.h"
#include "gen/ranks/rank_timing.h"
#include "gen/report/progress_display.h"
#include "gen/stats/run_stats.h"
#include "nic/stamp_clock.h"

namespace lw::gen {

class Companions;

/// The options of `roce-gen run`.
struct RunOptions {
  std::string profile;               // a path, "-" for standard input
  std::vector<std::string> changes;  // values of --set
  std::string pcap;                  // a path, "-" for standard output; empty: none
  Rotation rotation = {};            // of `pcap`
  std::vector<std::string> ports;
  std::vector<std::string> receive;               // ports to measure at; may be among `ports`
  std::optional<Duration> timeout;                // longest wait for missing frames; 500 ms
  std::optional<Duration> link_timeout;           // longest wait for the links; 30 s
  nic::ClockKind clock = nic::ClockKind::steady;  // of the signatures' send times
  MeasureChoices choices;
  Limits limits;
  app::Verdicts verdicts{config::kRunQuestions};
  app::HtmlReport html = {};
  std::optional<report::RateHistory> history = {};  // of --html
  std::uint16_t cores = 1;
  std::optional<std::uint64_t> seed;  // replaces the profile's
  std::string peer, token;            // HOST:PORT of roce-endpoint, and its token; empty: none
  std::string report_to;              // a file or socket for the JSON report; empty: none
  bool json = false, verbose = false;
  bool dry_run = false;              // only print what the run would send
  Companions* companions = nullptr;  // the other processes of a common run; null: none
  Duration most_skew = kUsualSkew;   // of the starts in a common run
  std::string rank_reports;          // folder, then file, of this process's report; empty: none
};

/// With a limit of the run, flows whose profile has no number of messages repeat until it is
/// reached.
void fit_length(config::FlowProfile& profile, const Limits& limits);

/// Writes the frames of a profile into a file, in virtual time.
Result<RunReport> run_to_file(const config::FlowProfile& profile, const RunOptions& options);

/// Sends the frames of a profile to ports, in real time, and into a file if one is named.
/// `measurement` gets the frames that arrive at the receiving ports; may be null. `device` gets the
/// report of the device that options.peer names.
Result<RunReport> run_to_ports(const config::FlowProfile& profile, const RunOptions& options,
                               Measurement* measurement, std::optional<handover::Report>& device);

}  // namespace lw::gen
