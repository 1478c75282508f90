// SPDX-License-Identifier: BSD-3-Clause
#include "transport/packet_frame.h"

#include <cassert>

#include "roce/message.h"

namespace lw::transport {
namespace {

constexpr std::uint8_t kEct0 = 2, kCe = 3;
constexpr std::uint8_t kCnpDscp = 48;
constexpr std::uint32_t kQKey = 0x11111111;  // QpConfig's

std::byte high(std::uint16_t host) noexcept { return static_cast<std::byte>((host + 1) >> 8); }
std::byte low(std::uint16_t host) noexcept { return static_cast<std::byte>(host + 1); }

void fill_network(roce::FrameFields& fields, const Packet& packet) noexcept {
  fields.source_mac = mac_of(packet.from_host);
  fields.destination_mac = mac_of(packet.to_host);
  fields.ipv4.source = ip_of(packet.from_host);
  fields.ipv4.destination = ip_of(packet.to_host);
  fields.ipv4.ecn = packet.congestion_experienced ? kCe : kEct0;
  if (packet.opcode == kCnpOpcode) fields.ipv4.dscp = kCnpDscp;
  // A UDP source port a connection, as NICs choose it: the same for all its packets.
  fields.source_port =
      static_cast<std::uint16_t>(0xc000 | ((packet.source_qp ^ packet.dest_qp << 7) & 0x3fff));
}

void fill_transport(roce::FrameFields& fields, const Packet& packet) noexcept {
  fields.bth.opcode = packet.opcode;
  fields.bth.solicited_event = packet.solicited_event;
  fields.bth.pad_count = roce::pad_of(packet.payload);
  fields.bth.becn = packet.opcode == kCnpOpcode;
  fields.bth.dest_qp = packet.dest_qp;
  fields.bth.ack_req = packet.ack_req;
  fields.bth.psn = packet.psn;
  fields.deth = {.q_key = kQKey, .src_qp = packet.source_qp};
  fields.reth = {.va = packet.va, .r_key = packet.r_key, .dma_length = packet.length};
  fields.atomiceth = {.va = packet.va,
                      .r_key = packet.r_key,
                      .swap_or_add = packet.swap_add,
                      .compare = packet.compare};
  fields.aeth = {.syndrome = packet.syndrome, .msn = packet.msn};
  fields.atomicacketh = {.original = packet.swap_add};
  fields.immdt = {.immediate = packet.word};
  fields.ieth = {.r_key = packet.word};
}

}  // namespace

wire::MacAddress mac_of(std::uint16_t host) noexcept {
  return {{std::byte{2}, {}, {}, {}, high(host), low(host)}};
}

wire::Ipv4Address ip_of(std::uint16_t host) noexcept {
  return {{std::byte{198}, std::byte{18}, high(host), low(host)}};
}

std::vector<std::byte> to_frame(const Packet& packet, wire::Bytes payload) {
  assert(payload.empty() || payload.size() == packet.payload);
  roce::FrameFields fields;
  fill_network(fields, packet);
  fill_transport(fields, packet);
  if (!payload.empty()) return roce::compose(fields, payload);
  return roce::compose(fields, std::vector<std::byte>(packet.payload));
}

}  // namespace lw::transport
