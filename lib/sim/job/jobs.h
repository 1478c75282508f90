// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/job/job.h"
#include "sim/job/running_job.h"
#include "sim/network/failures.h"
#include "sim/network/network.h"

namespace lw::sim {

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
  /// What the jobs have done until now.
  [[nodiscard]] std::vector<JobResult> results() const;
  /// Payload of all messages that arrived.
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Share of the bytes of all jobs that have arrived, 0 to 1; 1: there are no jobs.
  [[nodiscard]] double share() const noexcept;
  /// Each QP by the host that sends on it, and its number there.
  [[nodiscard]] const std::vector<std::pair<Node, std::uint32_t>>& sending_qps() const noexcept {
    return sending_qps_;
  }

  Failures failures;

 private:
  void add_queues(RunningJob& job, const transport::QpConfig& qp, Network& network);
  void connect(RunningJob::SendQueue& queue, Node to, const transport::QpConfig& qp,
               Network& network);
  void watch(Host& host, std::uint32_t qp, const transport::Packet& packet, Instant now);

  Network& network_;
  std::vector<std::unique_ptr<RunningJob>> jobs_;
  std::vector<std::vector<RunningJob::SendQueue*>> queues_;  // by host and QP; null: of others
  std::vector<RunningJob::SendQueue*> crossing_;             // between parts of the network
  std::vector<std::pair<Node, std::uint32_t>> sending_qps_;
};

}  // namespace lw::sim
