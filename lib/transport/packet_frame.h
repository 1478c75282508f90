// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "roce/compose.h"
#include "transport/packet.h"

namespace lw::transport {

/// Addresses of simulated hosts: host n is 02:00:00:00:hh:ll and
/// 198.18.hh.ll, where hhll is n + 1 (RFC 2544's addresses for benchmarks).
wire::MacAddress mac_of(std::uint16_t host) noexcept;
wire::Ipv4Address ip_of(std::uint16_t host) noexcept;

/// Copies the packet into the fields of a frame: BTH, extension headers, ECN and DSCP as
/// a NIC has them (ECT(0) unless CE was set, CNPs with DSCP 48). Addresses and the UDP source port
/// stay as they are.
void put_packet(const Packet& packet, roce::FrameFields& fields) noexcept;

/// The packet as a NIC would put it on the wire, RoCEv2 over IPv4 between simulated hosts, its
/// ICRC right. `payload` is as long as packet.payload, or empty for one of which only the length
/// is known: its bytes are zeros then.
std::vector<std::byte> to_frame(const Packet& packet, wire::Bytes payload = {});

/// Reads a packet from a frame's headers. The payload's bytes stay in the frame: `data` is 0.
/// Requires a known opcode and no defect. The caller checks the ICRC.
Packet read_packet(const roce::Frame& frame) noexcept;

}  // namespace lw::transport
