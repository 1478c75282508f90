// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/figure.h"
#include "core/question.h"
#include "gen/network/job_report.h"
#include "gen/network/network_file.h"
#include "report/figures/json.h"
#include "report/run_rows.h"
#include "sim/network/network_run.h"

namespace lw::gen {

/// A run on a network, with what was asked for. Valid as long as its parts.
struct NetworkReport {
  const NetworkFile& file;
  const sim::NetworkRunConfig& config;
  const sim::NetworkResult& result;
  std::vector<JobReport> jobs = {};

  /// The names of result.ports: "west->east", or "west->east#2" of parallel cables.
  [[nodiscard]] std::vector<std::string> port_names() const;
  /// The largest queue of all ports after the warm-up, in bytes.
  [[nodiscard]] std::uint64_t peak_queue() const noexcept;

  static const FigureTable& figures();
};

extern const JsonOutput kNetworkOutput;

/// Adds what the run observed of kPerfQuestions.
void observe_network(Judge& judge, const NetworkReport& report);
/// The rows of a run's page.
report::RunRows page_rows(const NetworkReport& report);
/// The report that a person reads: the whole, the ports, the flows by size.
std::string network_text(const NetworkReport& report);
/// The figures, and the samples as `ports_over_time`, for experiments.
report::Json network_values(const NetworkReport& report);
/// The names of these figures, and of the values of a sample.
report::Json network_names();
/// Samples of all ports: time_ms, port, utilization, queue_bytes, marked, dropped, paused_us.
std::string network_csv(const NetworkReport& report);

}  // namespace lw::gen
