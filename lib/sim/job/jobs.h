// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/job/schedule.h"
#include "sim/network/network.h"

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
};

/// One iteration of a job, from when its first rank began it until its last one ended it.
struct IterationResult {
  Instant began, ended;
  std::uint32_t slowest = 0;  // rank that ended last
};

struct JobResult {
  std::vector<IterationResult> iterations;  // as far as all ranks ended them
  std::uint64_t messages = 0, bytes = 0;    // that arrived

  /// From the first begin to the last end; 0: no iteration has ended.
  [[nodiscard]] Duration elapsed() const noexcept {
    return iterations.empty() ? Duration{} : iterations.back().ended - iterations.front().began;
  }
};

/// The longest message of a schedule, in bytes.
std::uint64_t longest_message(const Schedule& schedule) noexcept;

/// Runs jobs on a network. A rank begins an iteration when it has ended the one before: when it has
/// computed, got all messages of the iteration, and posted its own. It computes first, and may send
/// from `compute` x (1 - `overlap`) on. A message is a SEND with an immediate, which names it; the
/// receiver always has a receive.
class Jobs final : public transport::Application {
 public:
  /// `configs` and `network` outlive it. `qp`: of all QPs.
  Jobs(const std::vector<JobConfig>& configs, const transport::QpConfig& qp, Network& network);
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;
  Jobs(Jobs&&) = delete;
  Jobs& operator=(Jobs&&) = delete;
  ~Jobs() override;

  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;
  void on_time(transport::QpSet& qps, std::uint64_t tag, Instant now) override;

  /// All iterations have ended, or a request failed.
  [[nodiscard]] bool done() const noexcept;
  [[nodiscard]] std::vector<JobResult> results() const;
  /// Payload of all messages that arrived.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Each QP by the host that sends on it, and its number there.
  [[nodiscard]] const std::vector<std::pair<Node, std::uint32_t>>& sending_qps() const noexcept {
    return sending_qps_;
  }

  std::uint64_t failed = 0;
  std::optional<perf::Failure> failure;

 private:
  struct Job;
  struct SendQueue;

  std::vector<std::unique_ptr<Job>> jobs_;
  std::vector<std::map<std::uint32_t, SendQueue*>> queues_;  // by host and QP
  std::vector<std::pair<Node, std::uint32_t>> sending_qps_;
};

}  // namespace lw::sim
