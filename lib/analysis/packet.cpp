// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/packet.h"

#include <bit>
#include <cstring>
#include <utility>

#include "analysis/icrc_error.h"
#include "wire/mad.h"

namespace lw::analysis {
namespace {

void take_extensions(const roce::Frame& frame, Packet& packet) {
  if (frame.reth != nullptr) {
    packet.has_reth = true;
    packet.va = frame.reth->va.get();
    packet.r_key = frame.reth->r_key.get();
    packet.dma_length = frame.reth->dma_length.get();
  }
  if (frame.atomiceth != nullptr) {
    packet.va = frame.atomiceth->va.get();
    packet.r_key = frame.atomiceth->r_key.get();
  }
  if (frame.aeth != nullptr) {
    packet.has_aeth = true;
    packet.syndrome = frame.aeth->syndrome.get();
    packet.msn = frame.aeth->msn.get();
  }
  if (frame.immdt != nullptr) {
    packet.has_immediate = true;
    packet.immediate = frame.immdt->immediate.get();
  }
  if (frame.deth != nullptr) packet.source_qp = frame.deth->src_qp.get();
}

QpFlowKey qp_flow_key(const SeenFrame& seen) noexcept {
  const roce::FlowKey flow = roce::flow_key(seen.frame);
  QpFlowKey key{.source = flow.source,
                .destination = flow.destination,
                .qp = flow.dest_qp,
                .point = seen.point};
  if (seen.frame.rdeth != nullptr) {
    key.qp = seen.frame.rdeth->ee_context.get();
  } else if (seen.frame.deth != nullptr) {
    key.source_qp = seen.frame.deth->src_qp.get();
  }
  return key;
}

Packet packet_of(const SeenFrame& seen) noexcept {
  const roce::Frame& frame = seen.frame;
  const roce::Envelope& envelope = frame.envelope;
  const wire::Bth& bth = *frame.bth;
  Packet packet{.number = seen.number, .stamp = seen.stamp, .info = frame.info};
  packet.psn = bth.psn().value();
  packet.payload = static_cast<std::uint32_t>(frame.payload_length);
  packet.wire_length = static_cast<std::uint32_t>(envelope.wire_length);
  packet.ip_id = envelope.ipv4 != nullptr ? envelope.ipv4->id.get() : std::uint16_t{0};
  packet.source_port = envelope.udp != nullptr ? envelope.udp->source_port.get() : std::uint16_t{0};
  packet.p_key = bth.p_key.get();
  packet.ecn = envelope.ecn();
  packet.pad = bth.pad_count();
  packet.ack_req = bth.ack_req();
  packet.becn = bth.becn();
  packet.bad_icrc = seen.icrc == roce::IcrcVerdict::bad;
  packet.good_icrc = seen.icrc == roce::IcrcVerdict::ok;
  packet.complete = !frame.defect || frame.defect->problem == roce::Problem::cut;
  take_extensions(frame, packet);
  return packet;
}

bool is_cm(const roce::Frame& frame) noexcept {
  constexpr std::uint8_t kCommunicationManagement = 7;
  return frame.mad != nullptr && frame.mad->management_class.get() == kCommunicationManagement &&
         (frame.envelope.ipv4 != nullptr || frame.envelope.ipv6 != nullptr);
}

}  // namespace

std::size_t QpFlowKeyHash::operator()(const QpFlowKey& key) const noexcept {
  std::uint64_t words[4];
  std::memcpy(words, key.source.data(), 16);
  std::memcpy(words + 2, key.destination.data(), 16);
  std::uint64_t hash = std::uint64_t{key.qp} << 32 | key.source_qp;
  hash ^= std::uint64_t{key.point} << 24;
  for (const std::uint64_t word : words) {
    hash = (std::rotl(hash, 23) ^ word) * 0x9e3779b97f4a7c15u;
  }
  return hash ^ hash >> 29;
}

KeyedPacket PacketReader::read(const SeenFrame& seen) {
  KeyedPacket taken{.packet = packet_of(seen),
                    .key = qp_flow_key(seen),
                    .encapsulation = seen.frame.envelope.encapsulation(),
                    .rare = nullptr};
  KeyedPacket::Rare rare;
  if (taken.packet.bad_icrc && explained_ < kMostExplained) {
    rare.bad_icrc = explain_bad_icrc(seen.frame.envelope);
    ++explained_;
  }
  if (!taken.packet.bad_icrc && is_cm(seen.frame))
    rare.connection = emulator::cm_sighting(seen.frame.envelope, *seen.frame.bth);
  if (rare.connection || !rare.bad_icrc.empty())
    taken.rare = std::make_unique<KeyedPacket::Rare>(std::move(rare));
  return taken;
}

}  // namespace lw::analysis
