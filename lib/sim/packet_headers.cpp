// SPDX-License-Identifier: BSD-3-Clause
#include "sim/packet_headers.h"

#include <algorithm>
#include <span>

#include "transport/opcode_set.h"
#include "transport/packet_frame.h"

namespace lw::sim {

using transport::Packet;

namespace {

bool alike(const Packet& a, const Packet& b) noexcept {
  return a.opcode == b.opcode && a.dest_qp == b.dest_qp && a.source_qp == b.source_qp &&
         a.from_host == b.from_host && a.to_host == b.to_host && a.payload == b.payload &&
         a.congestion_experienced == b.congestion_experienced;
}

std::size_t hash_of(const Packet& p) noexcept {
  const std::uint64_t mixed = (std::uint64_t{p.dest_qp} << 24 ^ std::uint64_t{p.from_host} << 40 ^
                               std::uint64_t{p.opcode} << 16 ^ p.payload) *
                              0x9e3779b97f4a7c15;
  return static_cast<std::size_t>(mixed >> 40);
}

bool acknowledges(std::uint8_t opcode) noexcept {
  return transport::meaning_of(opcode).operation == wire::Operation::ack;
}

}  // namespace

void PacketHeaders::compose(Headers& headers, const Packet& packet) {
  headers.like = packet;
  const std::vector<std::byte> frame = transport::to_frame(packet);
  const std::span<const std::byte> all(frame);
  const auto kept = all.first(std::min(frame.size(), kHeaderBytes));
  headers.bytes.assign(kept.begin(), kept.end());
  headers.envelope = roce::open_envelope(headers.bytes, frame.size());
  std::byte* bth = headers.bytes.data() + headers.envelope.bth_offset();
  headers.bth = reinterpret_cast<wire::Bth*>(bth);
  headers.aeth = acknowledges(packet.opcode)
                     ? reinterpret_cast<wire::Aeth*>(bth + sizeof(wire::Bth))
                     : nullptr;
}

/// The packet's place, or an empty one, or else somebody's: whose doesn't matter.
PacketHeaders::Headers& PacketHeaders::place_of(const Packet& packet) {
  const std::span ways = std::span(places_).subspan(hash_of(packet) % kSets * kWays, kWays);
  const auto place = std::ranges::find_if(
      ways, [&](const Headers& h) { return h.bth == nullptr || alike(h.like, packet); });
  return place != ways.end() ? *place : ways[packet.psn.value() % kWays];
}

const roce::Envelope& PacketHeaders::of(const Packet& packet) {
  Headers& headers = place_of(packet);
  if (headers.bth == nullptr || !alike(headers.like, packet)) compose(headers, packet);
  headers.bth->set_psn(packet.psn);
  headers.bth->set_ack_req(packet.ack_req);
  if (headers.aeth) headers.aeth->set({packet.syndrome, packet.msn});
  return headers.envelope;
}

}  // namespace lw::sim
