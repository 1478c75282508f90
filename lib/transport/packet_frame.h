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

/// The packet as a NIC would put it on the wire, RoCEv2 over IPv4: ECT(0) unless CE was set, CNPs
/// with DSCP 48, its ICRC right. `payload` is as long as packet.payload, or empty for one of which
/// only the length is known: its bytes are zeros then.
std::vector<std::byte> to_frame(const Packet& packet, wire::Bytes payload = {});

}  // namespace lw::transport
