// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/compact_histogram.h"
#include "sim/network/failures.h"
#include "sim/network/network.h"
#include "sim/network/sending.h"
#include "sim/perf.h"

namespace lw::sim {

/// The ordered pairs of hosts that send, from `hosts` hosts. No host sends to itself.
std::vector<std::pair<Node, Node>> pairs_of(const Sending& sending, std::size_t hosts,
                                            std::uint64_t seed);

/// A QP that sends without a load, or one flow with one.
struct FlowResult {
  Node from = 0, to = 0;
  std::uint64_t bytes = 0;  // completed
  Instant started;
  Instant ended{};        // the last completion
  bool finished = false;  // all its messages completed
};

/// Applies a workload to a network and counts what completes. Of a flow, only its sender's host
/// changes anything.
class Workload final : public transport::Application {
 public:
  /// `network` outlives it. `perf`: the operation, the size of a message, and the QPs.
  Workload(const WorkloadConfig& config, const perf::PerfConfig& perf, Network& network);

  /// When start() has something to do; Instant::max(): never again.
  [[nodiscard]] Instant next_start() const noexcept;
  /// Starts what is due at `now`.
  void start(Instant now);
  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

  [[nodiscard]] const std::vector<FlowResult>& flows() const noexcept { return flows_; }
  /// True if no flow will start any more and all have ended.
  [[nodiscard]] bool done() const noexcept { return starts_.empty() && ended_ == flows_.size(); }
  /// Payload of all messages that are complete.
  [[nodiscard]] std::uint64_t completed_bytes() const noexcept { return completed_bytes_; }
  /// Times from post to completion, of the messages of one of the first kMostLatencies QPs without
  /// a load that completed since forget_latencies(), in ns; null: of another flow.
  [[nodiscard]] const CompactHistogram* latencies(std::size_t flow) const noexcept {
    return flow < latencies_.size() ? &latencies_[flow] : nullptr;
  }
  static constexpr std::size_t kMostLatencies = 10'000;
  void forget_latencies() noexcept {
    for (CompactHistogram& each : latencies_) each = {};
  }
  /// Each QP by the host that sends on it, and its number there.
  [[nodiscard]] const std::vector<std::pair<Node, std::uint32_t>>& sending_qps() const noexcept {
    return sending_qps_;
  }

  Failures failures;

 private:
  static constexpr std::uint32_t kNoFlow = ~0u;
  struct Pair {
    Node from = 0, to = 0;
    std::uint32_t sending = 0;
    std::vector<std::uint32_t> idle;  // QPs of `from`, with a load
  };
  struct Start {
    Instant at;
    std::uint32_t sender = 0;  // index in senders_
    std::uint64_t number = 0;  // of its arrivals
    friend bool operator<(const Start& a, const Start& b) noexcept {
      return a.at != b.at ? a.at > b.at : a.sender > b.sender;
    }
  };
  struct Sender {
    Node host = 0;
    std::uint32_t sending = 0;
    std::vector<std::uint32_t> pairs;
  };

  void add_senders(std::uint32_t number, std::size_t hosts);
  [[nodiscard]] const Sending& sending_of(const Sender& sender) const noexcept {
    return config_.sendings[sender.sending];
  }
  [[nodiscard]] std::uint32_t size_of(const Sending& sending) const noexcept {
    return sending.size > 0 ? sending.size : perf_.size;
  }
  std::uint32_t add_qp(Node from, Node to);
  void start_full(const Sender& sender, Instant now);
  void start_flow(const Start& start, Instant now);
  [[nodiscard]] Duration gap(std::uint32_t sender, std::uint64_t number) const noexcept;
  [[nodiscard]] std::uint32_t draw_size(std::uint64_t draw_index, std::uint32_t sender) const;
  bool post(Node host, std::uint32_t qp, std::uint32_t size, Instant now);

  WorkloadConfig config_;
  perf::PerfConfig perf_;
  Network& network_;
  Chance chance_;
  std::vector<Pair> pairs_;
  std::vector<Sender> senders_;
  std::priority_queue<Start> starts_;
  std::vector<FlowResult> flows_;
  std::vector<CompactHistogram> latencies_;          // by flow
  std::vector<std::uint64_t> left_;                  // messages to post, by flow
  std::vector<std::uint64_t> waiting_;               // posted and not completed, by flow
  std::vector<std::vector<std::uint32_t>> flow_of_;  // by host and QP
  std::vector<std::vector<std::uint32_t>> pair_of_;  // by host and QP
  std::vector<std::pair<Node, std::uint32_t>> sending_qps_;
  std::atomic<std::size_t> ended_{0};
  std::atomic<std::uint64_t> completed_bytes_{0};
};

}  // namespace lw::sim
