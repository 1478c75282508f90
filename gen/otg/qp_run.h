// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gen/otg/offer.h"
#include "gen/otg/plan.h"
#include "gen/otg/qp_meter.h"
#include "gen/perf/session/endpoint.h"

namespace lw::gen::otg {

/// A flow of a QP while it runs.
struct FlowRun {
  const PlannedFlow* flow = nullptr;
  enum class State : std::uint8_t { stopped, started, paused } state = State::stopped;
  std::uint64_t posted = 0, completed = 0, failed = 0;  // messages
};

/// One QP of a configuration: its connection while it is up, its flows, its counters. Keeps the
/// messages of 50 ms outstanding. One thread.
class QpRun final : public transport::Application {
 public:
  /// `plan`, the clock, and the endpoint of the connection outlive it.
  QpRun(const LabPlan& plan, std::size_t index, double line_bps, const nic::StampClock& clock);

  /// What connection management says to the other end.
  [[nodiscard]] QpOffer offer() const noexcept;
  /// Opens the connection to the QP `number` at `peer`, which sent `offer`.
  void open(Endpoint& endpoint, const Peer& peer, std::uint32_t number, const QpOffer& offer);
  void close(Endpoint& endpoint);
  [[nodiscard]] bool is_open() const noexcept { return connection_ != nullptr; }
  [[nodiscard]] bool broken() const noexcept {
    return connection_ != nullptr && connection_->pair().broken();
  }
  /// The marks and the UDP source port of the QP's packets.
  [[nodiscard]] roce::ClassOfTraffic traffic() const;

  /// Sets all counters to 0.
  void clear();
  /// Posts as many messages as may be outstanding.
  void post(Instant now);
  /// No message is outstanding.
  [[nodiscard]] bool drained() const noexcept {
    return connection_ == nullptr || broken() || outstanding_ == 0;
  }

  void on_completion(transport::QpSet& qps, std::uint32_t qp, const transport::Completion& done,
                     Instant now) override;

  std::vector<FlowRun> flows;

  [[nodiscard]] const PlannedQp& planned() const noexcept { return plan_.qps[index_]; }
  [[nodiscard]] const QpMeter& meter() const noexcept { return meter_; }
  [[nodiscard]] QpMeter& meter() noexcept { return meter_; }
  /// Number of the QP at the other end; 0 before the first connection.
  [[nodiscard]] std::uint32_t peer_number() const noexcept { return peer_number_; }
  /// Messages of the other end that arrived whole.
  [[nodiscard]] std::uint64_t arrived() const noexcept { return arrived_; }
  /// READs of this QP that are complete.
  [[nodiscard]] std::uint64_t fetched() const noexcept;
  [[nodiscard]] std::uint64_t retransmitted() const noexcept;
  /// Packets out of sequence: requests here, and responses to READs of this QP.
  [[nodiscard]] std::uint64_t out_of_sequence() const noexcept;
  /// From the start of the flows to the latest completion.
  [[nodiscard]] Duration completion_time() const noexcept { return last_completion_ - started_; }
  /// The flows of this QP are READs, so data comes to it.
  [[nodiscard]] bool fetches() const noexcept;

 private:
  /// Counters of the transport, which never go back.
  struct Transported {
    std::uint64_t retransmitted = 0, out_of_sequence = 0;
  };
  [[nodiscard]] transport::QpConfig config_of(std::uint32_t number, const QpOffer& offer) const;
  [[nodiscard]] std::uint64_t depth() const noexcept;
  [[nodiscard]] Transported transported() const noexcept;
  [[nodiscard]] FlowRun* next_flow() noexcept;
  void post_receive();

  const LabPlan& plan_;
  std::size_t index_;
  double line_bps_;  // of the port whose share the QP has; 0: unknown
  double rate_bps_;  // 0: nothing is sent
  QpMeter meter_;
  Connection* connection_ = nullptr;
  QpOffer remote_;
  std::uint32_t peer_number_ = 0;
  std::uint64_t depth_;
  std::uint64_t outstanding_ = 0, arrived_ = 0;
  std::size_t turn_ = 0;       // of the flows
  Transported before_, past_;  // at clear(); of closed connections
  Instant started_{}, last_completion_{};
};

}  // namespace lw::gen::otg
