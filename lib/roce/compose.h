// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "roce/frame.h"

namespace lw::roce {

/// A frame as values. Extension headers (fields.reth) count only where the opcode has them.
/// compose() derives lengths, pad count, IPv4 checksum and ICRC.
struct FrameFields : wire::ExtensionSlots<wire::HeaderValues> {
  wire::MacAddress source_mac, destination_mac;
  std::vector<wire::VlanFields> vlans;  // outer first; `type` is derived
  wire::Encapsulation encapsulation = wire::Encapsulation::ipv4;
  wire::Ipv4Fields ipv4;
  wire::Ipv6Fields ipv6;  // also a RoCEv1 frame's GRH
  std::uint16_t source_port = 0xc000;
  wire::BthFields bth;
};

/// Offsets of the parts of a composed frame, in bytes from its start.
struct FrameLayout {
  std::size_t network = 0, udp = 0, bth = 0, payload = 0, icrc = 0, size = 0;
  std::size_t pad = 0;
};

/// The layout of a frame with these fields and `payload_length` bytes of payload. The opcode must
/// be known. A VLAN tag adds 4, the network header 20 or 40, UDP 8 (none in RoCEv1).
FrameLayout layout_of(const FrameFields& fields, std::size_t payload_length) noexcept;

/// Writes the frame into `out` of layout_of(...).size bytes: headers, payload, pad and ICRC. The
/// port adds the FCS and the padding to Ethernet's minimum.
/// A CNP's 16 zero bytes are its payload.
void compose(const FrameFields& fields, Bytes payload, wire::MutableBytes out) noexcept;
std::vector<std::byte> compose(const FrameFields& fields, Bytes payload);

}  // namespace lw::roce
