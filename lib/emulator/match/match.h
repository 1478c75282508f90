// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/bpf.h"
#include "core/time.h"
#include "emulator/match/packet_kind.h"
#include "roce/envelope.h"
#include "roce/plain_rocev2.h"
#include "wire/address.h"
#include "wire/bth.h"

namespace lw::emulator {

/// Returns the BTH of a complete RoCEv2 packet: UDP to port 4791 over IPv4 or IPv6, with or without
/// VLAN tags, not a fragment, with a whole BTH, and with room for an ICRC by the lengths of IP and
/// UDP. Null for anything else.
inline const wire::Bth* bth_of(const roce::Envelope& envelope) noexcept {
  if (!envelope.udp || envelope.fragment || !envelope.is_roce()) return nullptr;
  if (envelope.transport_offset + roce::kLeastDatagram > envelope.network_end) return nullptr;
  if (envelope.udp->length.get() < roce::kLeastDatagram) return nullptr;
  return wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
}

/// Which kinds of frames a rule can match.
enum class MatchedFrames : std::uint8_t {
  rocev2,      // those with bth_of(): the default
  everything,  // every frame, including ARP and LLDP
};

/// An address and its number of significant leading bits.
struct AddressPrefix {
  wire::IpAddress address;
  std::uint8_t length = 0;  // 0..32 or 0..128
  friend bool operator==(const AddressPrefix&, const AddressPrefix&) = default;
};

/// A range of numbers, both ends included. PSNs may wrap: {0xfffffe, 1} contains four.
struct NumberRange {
  std::uint32_t first = 0, last = 0;
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

/// A libpcap expression, compiled for Ethernet.
struct Expression {
  std::string text;
  BpfProgram program;
  friend bool operator==(const Expression&, const Expression&) = default;
};

/// A tunnel around a RoCEv2 packet.
enum class Tunnel : std::uint8_t { vxlan, geneve, srv6 };
inline constexpr std::size_t kTunnels = 3;

/// The tunnels of the packets that a rule matches: of one of these kinds, with one of these VNIs.
struct TunnelMatch {
  std::bitset<kTunnels> kinds;
  std::vector<NumberRange> vni;  // empty: any; SRv6 has none
  friend bool operator==(const TunnelMatch&, const TunnelMatch&) = default;
};

/// The match of a rule. All given conditions must hold; a list holds if one of its elements does. A
/// condition on BTH fields, or on headers after the BTH, matches only RoCEv2 packets, whatever
/// `frames` is.
struct MatchConfig {
  MatchedFrames frames = MatchedFrames::rocev2;
  std::vector<AddressPrefix> source, destination;
  std::vector<NumberRange> vlan;  // id of the outer tag; untagged frames have none
  std::vector<NumberRange> dscp;
  std::optional<std::bitset<256>> opcodes;  // combines transport, operation and position
  std::optional<std::bitset<kPacketKinds>> kinds;
  std::vector<NumberRange> dest_qp, psn;
  std::optional<Expression> expression;
  std::optional<TunnelMatch> tunnel;  // the other conditions are of the packet within

  MatchConfig() = default;
  /// Converts to a match without further conditions.
  MatchConfig(MatchedFrames which) : frames(which) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool needs_bth() const noexcept {
    return frames == MatchedFrames::rocev2 || opcodes || kinds || !dest_qp.empty() || !psn.empty();
  }
  friend bool operator==(const MatchConfig&, const MatchConfig&) = default;
};

/// A received frame, with all that rules and stages need.
struct IngressFrame {
  const roce::Envelope& envelope;
  const wire::Bth* bth;      // bth_of(envelope)
  std::uint64_t number = 0;  // ingress frame number of its direction, from 0
  std::uint32_t bytes = 0;   // on the wire, without FCS
  Instant now;
};

inline IngressFrame arrival_of(const roce::Envelope& envelope, std::uint64_t number,
                               Instant now) noexcept {
  return {envelope, bth_of(envelope), number, static_cast<std::uint32_t>(envelope.wire_length),
          now};
}

}  // namespace lw::emulator
