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

/// The BTH of a RoCEv2 packet that is whole enough to be impaired as one: UDP to port 4791 over
/// IPv4 or IPv6, tagged or not, not a fragment, with all of its BTH, and room for an ICRC by IP's
/// length and by UDP's. Null for anything else.
inline const wire::Bth* bth_of(const roce::Envelope& envelope) noexcept {
  if (!envelope.udp || envelope.fragment || !envelope.is_roce()) return nullptr;
  if (envelope.transport_offset + roce::kLeastDatagram > envelope.network_end) return nullptr;
  if (envelope.udp->length.get() < roce::kLeastDatagram) return nullptr;
  return wire::view_at<wire::Bth>(envelope.bytes, envelope.bth_offset());
}

/// Which frames a rule looks at in the first place.
enum class Match : std::uint8_t {
  rocev2,      // bth_of() finds one: the default
  everything,  // each and every frame, ARP and LLDP too
};

/// An address and how many of its leading bits count.
struct AddressPrefix {
  wire::IpAddress address;
  std::uint8_t length = 0;  // 0..32 or 0..128
  friend bool operator==(const AddressPrefix&, const AddressPrefix&) = default;
};

/// From first to last, both included. PSNs may wrap: {0xfffffe, 1} holds four of them.
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

/// What a rule applies to. All parts that are given must hold; a list holds when one of it does.
/// A part from the BTH on holds for RoCEv2 packets only, whatever `frames` says.
struct MatchConfig {
  Match frames = Match::rocev2;
  std::vector<AddressPrefix> source, destination;
  std::vector<NumberRange> vlan;  // the outer tag's id; an untagged frame has none
  std::vector<NumberRange> dscp;
  std::optional<std::bitset<256>> opcodes;  // transport, operation and position come to this
  std::optional<std::bitset<kPacketKinds>> kinds;
  std::vector<NumberRange> dest_qp, psn;
  std::optional<Expression> expression;

  MatchConfig() = default;
  /// By itself, Match::rocev2 or Match::everything is all there is to say.
  MatchConfig(Match which) : frames(which) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool needs_bth() const noexcept {
    return frames == Match::rocev2 || opcodes || kinds || !dest_qp.empty() || !psn.empty();
  }
  friend bool operator==(const MatchConfig&, const MatchConfig&) = default;
};

/// A received frame, with all that rules and stages use.
struct Arrival {
  const roce::Envelope& envelope;
  const wire::Bth* bth;      // bth_of(envelope)
  std::uint64_t number = 0;  // ingress frame number of its direction, from 0
  std::uint32_t bytes = 0;   // on the wire, without FCS
  Instant now;
};

inline Arrival arrival_of(const roce::Envelope& envelope, std::uint64_t number,
                          Instant now) noexcept {
  return {envelope, bth_of(envelope), number, static_cast<std::uint32_t>(envelope.wire_length),
          now};
}

}  // namespace lw::emulator
