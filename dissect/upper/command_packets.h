// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "analysis/analyst.h"
#include "dissect/fields/frame_source.h"
#include "dissect/upper/kept_payloads.h"
#include "upper/follower.h"

namespace lw::dissect {

/// Keeps the begin of the payload of packets until the analysis knows their connection, then passes
/// it on; keeps the anomalies that explain packets that came again.
class CommandPackets final : public analysis::Results, public analysis::PacketObserver {
 public:
  using OnCommand = std::function<void(const upper::StorageCommand&)>;

  /// `forced`: of upper::Follower.
  CommandPackets(OnCommand on_command, std::optional<upper::UpperProtocol> forced)
      : follower_(std::move(on_command), forced) {}
  /// `analyst` outlives this. Call it before the first frame.
  void bind(const analysis::Analyst& analyst) { analyst_ = &analyst; }

  void keep(const CapturedFrame& captured, const wire::OpcodeInfo& opcode, wire::Bytes payload);
  void finish() { follower_.finish(); }

  void found(const analysis::Anomaly& anomaly) override;
  void completed(const analysis::Message& /*message*/) override {}
  void followed(const analysis::Session& session, std::uint8_t direction,
                const analysis::CapturedPacket& packet, bool taken) override;

  [[nodiscard]] const upper::Follower& follower() const noexcept { return follower_; }
  /// Those about packets that came again, by connection.
  [[nodiscard]] const std::vector<analysis::Anomaly>& recoveries_of(std::uint32_t connection) const;

 private:
  [[nodiscard]] upper::UpperProtocol service_of(const analysis::QpFlowKey& key) const;

  upper::Follower follower_;
  const analysis::Analyst* analyst_ = nullptr;
  KeptPayloads kept_;
  std::vector<bool> has_service_;                           // by connection: it was looked up
  std::vector<std::vector<analysis::Anomaly>> recoveries_;  // by connection
};

}  // namespace lw::dissect
