// SPDX-License-Identifier: BSD-3-Clause
#include "transport/packet.h"

#include <cassert>

#include "roce/message.h"

namespace lw::transport {
namespace {

// Ethernet 14 and FCS 4, preamble and gap 20, IPv4 20, UDP 8, BTH 12, ICRC 4.
constexpr std::uint32_t kHeaders = 14 + 4 + 20 + 20 + 8 + 12 + 4;

std::array<std::uint16_t, 256> overheads() noexcept {
  std::array<std::uint16_t, 256> sizes{};
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    sizes[info.opcode] = static_cast<std::uint16_t>(kHeaders + info.extensions.size());
  }
  return sizes;
}

}  // namespace

const std::array<std::uint16_t, 256> kWireOverhead = overheads();

namespace {

constexpr std::uint8_t kOperationBits = 0x1f;

std::array<OpcodeMeaning, 32> meanings() noexcept {
  std::array<OpcodeMeaning, 32> all{};
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    if (info.transport != wire::Transport::rc) continue;
    all[info.opcode & kOperationBits] = {
        .operation = info.operation,
        .position = info.position,
        .known = true,
        .response = info.role == wire::Role::response,
        .immediate = info.extensions.has(wire::Extension::immdt),
        .invalidate = info.extensions.has(wire::Extension::ieth),
        .begins = begins_message(info.position),
        .ends = ends_message(info.position),
    };
  }
  return all;
}

}  // namespace

const std::array<OpcodeMeaning, 32> kMeanings = meanings();

const OpcodeSet& opcodes_of(wire::Transport transport) noexcept {
  using wire::Transport;
  static const OpcodeSet rc(Transport::rc), uc(Transport::uc), ud(Transport::ud);
  return transport == Transport::rc ? rc : transport == Transport::uc ? uc : ud;
}

OpcodeSet::OpcodeSet(wire::Transport transport) noexcept {
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    if (info.transport != transport) continue;
    const bool immediate = info.extensions.has(wire::Extension::immdt);
    const bool invalidate = info.extensions.has(wire::Extension::ieth);
    opcodes_[index(info.operation, info.position, immediate, invalidate)] = info.opcode;
  }
}

namespace {

constexpr std::uint8_t kCe = 3;
constexpr std::uint32_t kQKey = 0x11111111;  // QpConfig's

std::byte high(std::uint16_t host) noexcept { return static_cast<std::byte>((host + 1) >> 8); }
std::byte low(std::uint16_t host) noexcept { return static_cast<std::byte>(host + 1); }

void fill_addresses(roce::FrameFields& fields, const Packet& packet) noexcept {
  fields.source_mac = mac_of(packet.from_host);
  fields.destination_mac = mac_of(packet.to_host);
  fields.ipv4.source = ip_of(packet.from_host);
  fields.ipv4.destination = ip_of(packet.to_host);
  fields.source_port = source_port_of(packet);
}

void read_extensions(const roce::Frame& frame, Packet& packet) noexcept {
  if (frame.deth) packet.source_qp = frame.deth->src_qp.get();
  if (frame.reth) {
    packet.va = frame.reth->va.get();
    packet.r_key = frame.reth->r_key.get();
    packet.length = frame.reth->dma_length.get();
  }
  if (frame.atomiceth) {
    const wire::AtomicEthFields atomic = frame.atomiceth->fields();
    packet.va = atomic.va;
    packet.r_key = atomic.r_key;
    packet.swap_add = atomic.swap_or_add;
    packet.compare = atomic.compare;
  }
  if (frame.aeth) {
    packet.syndrome = frame.aeth->syndrome.get();
    packet.msn = frame.aeth->msn.get();
  }
  if (frame.atomicacketh) packet.swap_add = frame.atomicacketh->fields().original;
  if (frame.immdt) packet.word = frame.immdt->fields().immediate;
  if (frame.ieth) packet.word = frame.ieth->fields().r_key;
}

}  // namespace

wire::MacAddress mac_of(std::uint16_t host) noexcept {
  return {{std::byte{2}, {}, {}, {}, high(host), low(host)}};
}

wire::Ipv4Address ip_of(std::uint16_t host) noexcept {
  return {{std::byte{198}, std::byte{18}, high(host), low(host)}};
}

void put_packet(const Packet& packet, roce::FrameFields& fields,
                const roce::MarksOfKinds& marks) noexcept {
  const auto kind = roce::class_kind(packet.opcode, packet.syndrome);
  roce::set_marks(marks[static_cast<std::size_t>(kind)], packet.congestion_experienced, fields);
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

Packet read_packet(const roce::Frame& frame) noexcept {
  Packet packet;
  const wire::BthFields bth = frame.bth->fields();
  packet.opcode = bth.opcode;
  packet.solicited_event = bth.solicited_event;
  packet.dest_qp = bth.dest_qp;
  packet.ack_req = bth.ack_req;
  packet.psn = bth.psn;
  packet.congestion_experienced = frame.envelope.ecn() == kCe;
  packet.payload = static_cast<std::uint32_t>(frame.payload_length);
  read_extensions(frame, packet);
  return packet;
}

std::vector<std::byte> to_frame(const Packet& packet, wire::Bytes payload) {
  assert(payload.empty() || payload.size() == packet.payload);
  roce::FrameFields fields;
  fill_addresses(fields, packet);
  put_packet(packet, fields);
  if (!payload.empty()) return roce::compose(fields, payload);
  return roce::compose(fields, std::vector<std::byte>(packet.payload));
}

}  // namespace lw::transport
