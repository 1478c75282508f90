// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/figure.h"
#include "core/question.h"
#include "report/plot.h"
#include "sim/network/network_run.h"

namespace lw::gen {

/// A step of a job, with names.
struct JobStep {
  std::size_t number = 0;  // from 1
  const sim::StepResult& result;
  std::string slowest;  // host that waited for the longest message

  static const FigureTable& figures();
};

/// What a job took on the network, and elsewhere.
struct JobReport {
  const sim::JobConfig& config;
  const sim::JobResult& result;
  const sim::Topology& topology;
  std::optional<Duration> one_site = {}, ideal = {};  // nothing: it did not end there

  [[nodiscard]] bool ended() const noexcept { return result.iterations.size() == config.repeat; }
  /// Mean, shortest and longest iteration, in us; 0: none has ended.
  [[nodiscard]] double mean_us() const noexcept;
  [[nodiscard]] double least_us() const noexcept;
  [[nodiscard]] double most_us() const noexcept;
  /// Bytes of the collective over the elapsed time of an iteration, without its computing, in Gb/s:
  /// nccl-tests'.
  [[nodiscard]] double algorithm_gbps() const noexcept;
  [[nodiscard]] double bus_gbps() const noexcept;
  /// The host that ended most iterations last.
  [[nodiscard]] std::string slowest() const;
  /// The steps that have messages.
  [[nodiscard]] std::vector<JobStep> steps() const;

  static const FigureTable& figures();
};

/// Runs each job of a network where there is no distance, and where there is nothing but the hosts'
/// links, and returns what all jobs took. `of`: the run on the network itself.
std::vector<JobReport> compare_jobs(const sim::NetworkRunConfig& config,
                                    const sim::NetworkResult& of,
                                    const sim::NetworkProgress& progress);

/// A table of the jobs; empty: there are none.
std::string jobs_text(const std::vector<JobReport>& jobs);
/// Whether the jobs have ended.
void observe_jobs(Judge& judge, const std::vector<JobReport>& jobs, const sim::NetworkResult& run);
/// The time of each iteration, with a curve per job; nothing if no job has two.
std::optional<report::Plot> jobs_plot(const std::vector<JobReport>& jobs);

}  // namespace lw::gen
