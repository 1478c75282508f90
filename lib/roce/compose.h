// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "roce/envelope.h"
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
/// As compose(), around a payload that is in `out` already. `layout` is layout_of() of both.
void compose_around(const FrameFields& fields, const FrameLayout& layout,
                    wire::MutableBytes out) noexcept;

/// Replaces an IP address. Without `from`, it replaces every address.
struct AddressChange {
  std::optional<wire::IpAddress> from;
  wire::IpAddress to;
};

/// Changes to the frames of a capture. Empty members change nothing.
struct FrameChanges {
  std::optional<wire::MacAddress> source_mac, destination_mac;
  /// Change frames of the same address family; a RoCEv1 GRH takes both, IPv4 as ::ffff:a.b.c.d. The
  /// first change that fits the captured address counts.
  std::vector<AddressChange> sources, destinations;
  /// Old to new QP number, 24 bits: BTH's destination QP and DETH's source QP.
  std::map<std::uint32_t, std::uint32_t> qps;
  /// Added to every PSN, modulo 2^24, except that of a CNP, which is always 0.
  std::uint32_t psn_offset = 0;
  /// Replaces psn_offset where the captured destination QP is a key.
  std::map<std::uint32_t, std::uint32_t> psn_offset_of_qp;
  std::optional<std::uint16_t> source_port, p_key;  // of all frames; RoCEv1 has no source port
  std::map<std::uint32_t, std::uint32_t> r_keys;    // old to new R_Key: of RETH, AtomicETH and IETH
};

enum class Rewritten : std::uint8_t {
  not_roce,  // unchanged
  yes,       // changed: the fields of the FrameChanges that the frame has, possibly none
  /// RoCE, unchanged because the ICRC's position is unknown: a fragment of an IP packet, cut by the
  /// capture, contradicting lengths.
  no_icrc,
};

/// Rewrites an Ethernet frame in place. Its length and the order of its headers stay. ICRC, IPv4
/// checksum and UDP checksum (if not 0) are patched, not computed: a wrong one stays wrong by the
/// same difference, so deliberate errors survive. The payload doesn't change, nor do QPs and PSNs
/// in a connection manager's MAD. Cost: a few table look-ups per changed byte.
Rewritten rewrite(const FrameChanges& what, wire::MutableBytes frame) noexcept;

}  // namespace lw::roce
