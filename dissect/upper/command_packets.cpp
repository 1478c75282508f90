// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/upper/command_packets.h"

#include <algorithm>
#include <ranges>

#include "upper/limits.h"

namespace lw::dissect {
namespace {

/// How much of a payload the parsers may need.
std::size_t needed_of(const wire::OpcodeInfo& opcode) noexcept {
  using wire::Operation;
  using wire::Position;
  if (opcode.transport == wire::Transport::ud) return 0;
  if (opcode.operation == Operation::send) return upper::kMostSendBytes;
  const bool begins = opcode.position == Position::first || opcode.position == Position::only;
  const bool carries =
      opcode.operation == Operation::write || opcode.operation == Operation::read_response;
  return begins && carries ? upper::kMostDataBytes : 0;
}

bool explains_repeats(const analysis::Anomaly& anomaly) noexcept {
  using analysis::AnomalyKind;
  return anomaly.kind == AnomalyKind::retransmission || anomaly.kind == AnomalyKind::duplicate ||
         anomaly.kind == AnomalyKind::out_of_order;
}

}  // namespace

void CommandPackets::keep(const CapturedFrame& captured, const wire::OpcodeInfo& opcode,
                          wire::Bytes payload) {
  const std::size_t most = std::min(needed_of(opcode), payload.size());
  if (most == 0) return;
  kept_.keep(captured.number, payload.first(most));
  // The analysis is at most kLookAhead packets behind.
  if (kept_.size() > analysis::Analyst::kLookAhead + 1) kept_.forget_oldest();
}

void CommandPackets::followed(const analysis::Session& session, std::uint8_t direction,
                              const analysis::CapturedPacket& packet, bool taken) {
  const upper::Bytes bytes = kept_.of(packet.number);
  const analysis::QpFlows& flows = analyst_->flows();
  const bool is_rc = packet.is_reliable();
  if (!taken || !is_rc || analysis::is_management(packet, flows[packet.flow].key)) return;
  if (has_service_.size() <= session.number) has_service_.resize(session.number + 1);
  const bool is_new = !has_service_[session.number];
  has_service_[session.number] = true;
  const bool reads = packet.info->operation == wire::Operation::read_request;
  follower_.add(
      {.packet = packet,
       .bytes = bytes,
       .connection = session.number,
       .direction = direction,
       .mtu = reads ? flows.mtu_of(packet.flow).value_or(0) : 0,
       .first_psn = flows[packet.flow].first_psn,
       .service = is_new ? service_of(flows[packet.flow].key) : upper::UpperProtocol::unknown});
}

/// The protocol that the set-up of a flow's connection names.
upper::UpperProtocol CommandPackets::service_of(const analysis::QpFlowKey& key) const {
  const auto& setups = analyst_->setups().setups();
  for (auto setup = setups.rbegin(); setup != setups.rend(); ++setup) {
    const bool there = setup->replier_qp == key.qp && setup->replier == key.destination;
    const bool back = setup->requester_qp == key.qp && setup->requester == key.destination;
    if ((there || back) && setup->point == key.point && setup->request)
      return upper::protocol_of_service(setup->request->service_id);
  }
  return upper::UpperProtocol::unknown;
}

void CommandPackets::found(const analysis::Anomaly& anomaly) {
  if (!explains_repeats(anomaly)) return;
  if (recoveries_.size() <= anomaly.session) recoveries_.resize(anomaly.session + 1);
  recoveries_[anomaly.session].push_back(anomaly);
}

const std::vector<analysis::Anomaly>& CommandPackets::recoveries_of(
    std::uint32_t connection) const {
  static const std::vector<analysis::Anomaly> kNone;
  return connection < recoveries_.size() ? recoveries_[connection] : kNone;
}

}  // namespace lw::dissect
