// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <variant>

#include "core/time.h"
#include "roce/envelope.h"
#include "roce/frame.h"
#include "wire/cm.h"

namespace lw::analysis {

/// A host's address, as in a GID: IPv4 is ::ffff:a.b.c.d.
using HostAddress = std::array<std::byte, 16>;

/// A message of a connection manager. Which members are used depends on the message.
struct CmNote {
  wire::CmMessage message{};
  HostAddress source{}, destination{};
  std::uint32_t local_id = 0;    // communication ID of the sender; of SIDR messages: the request's
  std::uint32_t remote_id = 0;   // that of the other end; 0: unknown
  std::uint32_t qpn = 0;         // REQ, REP: the sender's QP; DREQ: the other end's
  std::uint32_t psn = 0;         // REQ, REP: the first PSN that the other end shall send
  std::uint64_t service_id = 0;  // REQ, SIDR_REQ
  std::uint16_t p_key = 0;       // REQ, SIDR_REQ
  std::uint16_t reason = 0;      // REJ; SIDR_REP: its status
  std::uint8_t rejected = 0;     // REJ: 0 REQ, 1 REP, 2 neither
  std::uint8_t timeout = 0;      // REQ: of the QP's timer, 4.096 us << timeout; MRA: of its service
  std::uint8_t transport = 0;    // REQ: 0 RC, 1 UC, 2 RD, 3 another (XRC)
  std::uint8_t mtu_code = 0;     // REQ: 1..5 for 256..4096 bytes
  std::uint8_t retries = 0, rnr_retries = 0;                  // REQ
  std::uint8_t responder_resources = 0, initiator_depth = 0;  // REQ, REP
  std::optional<std::uint16_t> source_port = {};              // REQ to an IP service (RDMA CM)
};

/// An ICMP or ICMPv6 message about a RoCEv2 packet that was not passed on.
struct IcmpNote {
  HostAddress sender{};
  HostAddress source{}, destination{};  // of the quoted packet
  bool v6 = false;
  std::uint8_t type = 0, code = 0;
  std::uint32_t mtu = 0;                 // 0: none is named
  std::optional<std::uint32_t> qp, psn;  // of the quoted packet, if it is quoted that far
};

/// An ARP or neighbour message.
struct NeighbourNote {
  bool asks = false;  // a request: who has `target`? Otherwise `target` names its own address
  bool v6 = false;
  HostAddress sender{}, target{};
};

/// What a frame says about the set-up of connections.
struct SetupNote {
  std::uint64_t number = 0;  // of the frame
  Instant stamp;
  std::uint32_t point = 0;
  std::variant<CmNote, IcmpNote, NeighbourNote> what;
};

/// Reads a connection manager's message, of which the beginning is enough. Nothing: the frame is
/// none, or is cut before what it is about.
std::optional<CmNote> cm_note(const roce::Frame& frame) noexcept;

/// Reads an ICMP message about a RoCEv2 packet, or an ARP or neighbour message, from a frame that
/// is not RoCE. Nothing: it is none. Requests that nobody answers (probes for an address of one's
/// own) are none.
std::optional<std::variant<CmNote, IcmpNote, NeighbourNote>> other_note(
    const roce::Envelope& envelope) noexcept;

}  // namespace lw::analysis
