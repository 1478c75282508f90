// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/packet_kind.h"

#include <array>

#include "wire/aeth.h"
#include "wire/deth.h"
#include "wire/mad.h"
#include "wire/opcode.h"

namespace lw::emulator {
namespace {

constexpr std::array<std::string_view, kPacketKinds> kNames = {
    "request", "read_response", "ack", "nak", "rnr_nak", "atomic_ack", "cnp", "cm", "reserved"};

/// Returns the kind as far as the opcode determines it; ACKs and datagrams to QP 1 need a further
/// check.
PacketKind kind_of_operation(const wire::OpcodeInfo* info) noexcept {
  if (!info) return PacketKind::reserved;
  switch (info->operation) {
    case wire::Operation::read_response:
      return PacketKind::read_response;
    case wire::Operation::ack:
      return PacketKind::ack;
    case wire::Operation::atomic_ack:
      return PacketKind::atomic_ack;
    case wire::Operation::cnp:
      return PacketKind::cnp;
    default:
      return info->role == wire::Role::request ? PacketKind::request : PacketKind::reserved;
  }
}

const auto kKindOfOpcode = [] {
  std::array<PacketKind, 256> result{};
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = kind_of_operation(wire::find_opcode(static_cast<std::uint8_t>(i)));
  return result;
}();

PacketKind kind_of_ack(const roce::Envelope& envelope, const wire::Bth& bth) noexcept {
  // RD has an RDETH between BTH and AETH.
  const auto* info = wire::find_opcode(bth.opcode.get());
  const std::size_t before =
      info->extensions.has(wire::Extension::rdeth) ? wire::extension_size(0) : std::size_t{0};
  const std::size_t offset = envelope.bth_offset() + sizeof(wire::Bth) + before;
  const auto* aeth = wire::view_at<wire::Aeth>(envelope.bytes, offset);
  if (!aeth || offset + sizeof(wire::Aeth) > envelope.network_end) return PacketKind::reserved;
  switch (aeth->kind()) {
    case wire::AethKind::ack:
      return PacketKind::ack;
    case wire::AethKind::rnr_nak:
      return PacketKind::rnr_nak;
    case wire::AethKind::nak:
      return PacketKind::nak;
    default:
      return PacketKind::reserved;
  }
}

bool is_cm(const roce::Envelope& envelope, const wire::Bth& bth) noexcept {
  const auto* info = wire::find_opcode(bth.opcode.get());
  if (info->transport != wire::Transport::ud) return false;
  const std::size_t offset = envelope.bth_offset() + sizeof(wire::Bth) + sizeof(wire::Deth);
  const auto* mad = wire::view_at<wire::Mad>(envelope.bytes, offset);
  return mad && mad->management_class.get() == wire::kMadClassCommunication;
}

}  // namespace

std::string_view name_of(PacketKind kind) noexcept {
  return kNames[static_cast<std::size_t>(kind)];
}

PacketKind kind_of(const roce::Envelope& envelope, const wire::Bth& bth) noexcept {
  const PacketKind kind = kKindOfOpcode[bth.opcode.get()];
  if (kind == PacketKind::ack) return kind_of_ack(envelope, bth);
  const bool general = bth.dest_qp.get() == wire::kGeneralServicesQp;
  if (kind == PacketKind::request && general && is_cm(envelope, bth)) return PacketKind::cm;
  return kind;
}

}  // namespace lw::emulator
