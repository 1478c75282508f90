// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "roce/compose.h"
#include "transport/packet.h"

namespace lw::transport {

/// What the frames of simulated hosts say of them: host n is 02:00:00:00:hh:ll and
/// 198.18.hh.ll, where hhll is n + 1 (RFC 2544's addresses for benchmarks).
wire::MacAddress mac_of(std::uint16_t host) noexcept;
wire::Ipv4Address ip_of(std::uint16_t host) noexcept;

/// Writes what the packet says into the fields of a frame: BTH, extension headers, ECN and DSCP as
/// a NIC has them (ECT(0) unless CE was set, CNPs with DSCP 48). Addresses and the UDP source port
/// stay as they are.
void put_packet(const Packet& packet, roce::FrameFields& fields) noexcept;

/// The packet as a NIC would put it on the wire, RoCEv2 over IPv4 between simulated hosts, its
/// ICRC right. `payload` is as long as packet.payload, or empty for one of which only the length
/// is known: its bytes are zeros then.
std::vector<std::byte> to_frame(const Packet& packet, wire::Bytes payload = {});

/// What a frame's headers say, the other way round. The payload's bytes stay in the frame: `data`
/// is 0. The frame has a known opcode and no defect; its ICRC is the caller's to check.
Packet read_packet(const roce::Frame& frame) noexcept;

}  // namespace lw::transport
