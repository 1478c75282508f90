// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/job/schedule.h"
#include "sim/job/time_parts.h"
#include "sim/network/topology.h"

namespace lw::sim {

/// Ranks that compute and exchange data, iteration after iteration.
struct JobConfig {
  std::string name;
  std::vector<Node> ranks;  // the host of each, each once
  CollectiveConfig collective = {};
  Schedule schedule = {};    // of that
  Duration step_overhead{};  // from when a message may be sent until it is posted
  Duration compute{};        // of each rank, in each iteration
  double overlap = 0;        // share of the end of that in which it may communicate, 0 to 1
  std::uint32_t repeat = 1;  // iterations
  Duration start{};

  /// Its settings, with those of the collective.
  static const FigureTable& figures();
};

/// One iteration of a job, from when its first rank began it until its last one ended it.
struct IterationResult {
  Instant began, ended;
  std::uint32_t slowest = 0;  // rank that ended last
};

/// The messages of one step of a job, over all iterations. See steps_of().
struct StepResult {
  std::uint64_t messages = 0;
  TimeParts parts;            // sum of all, from when each may be sent until it has arrived
  Duration longest{};         // of a message
  std::uint32_t slowest = 0;  // rank that waited for that
};

/// A message of a job's first iteration.
struct TimelineMessage {
  std::uint32_t from = 0, to = 0, step = 0;  // ranks
  Instant ready, arrived;
};

/// A message whose sender waits for ever: a packet was lost, no later one shows it, and no timer
/// runs.
struct StuckMessage {
  std::uint32_t from = 0, to = 0, step = 0;  // ranks
};

struct JobResult {
  std::vector<IterationResult> iterations;  // as far as all ranks ended them
  std::uint64_t messages = 0, bytes = 0;    // that arrived
  TimeParts parts;                          // of elapsed(), on the way to the last end
  std::vector<StepResult> steps;            // from step 1; at most kMostSteps
  std::vector<TimelineMessage> timeline;    // of the first kMostTimeline of the schedule

  std::vector<StuckMessage> stuck;  // the oldest of each QP

  static constexpr std::size_t kMostSteps = 1000, kMostTimeline = 20'000;

  /// From the first begin to the last end; 0: no iteration has ended.
  [[nodiscard]] Duration elapsed() const noexcept {
    return iterations.empty() ? Duration{} : iterations.back().ended - iterations.front().began;
  }
};

/// The longest message of a schedule, in bytes.
std::uint64_t longest_message(const Schedule& schedule) noexcept;

}  // namespace lw::sim
