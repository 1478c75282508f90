// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "gen/perf/session/qp_class.h"
#include "gen/perf/session/session_params.h"
#include "wire/address.h"
#include "wire/cm.h"
#include "wire/mad.h"

namespace lw::gen {

/// A connection management datagram. (IBTA vol. 1, 12.6. A request's private data begin with the
/// addresses of annex A11, in the form of Linux' rdma_cm for its TCP port space.)
using MadBytes = std::array<std::byte, wire::kMadSize>;

/// The communication ids of a connection's two ends.
struct CmIds {
  std::uint32_t local = 0, remote = 0;
};

/// The sender's QP, in a request and in its reply.
struct CmQp {
  std::uint32_t qpn = 0;  // 24 bits
  wire::Psn first_psn;    // of the peer's first packet to this QP
  std::uint8_t responder_resources = 16, initiator_depth = 16;  // READs and atomics in, out
  std::uint8_t rnr_retry = 7;                                   // 0..7
};

struct ConnectRequest {
  std::uint32_t comm_id = 0;
  CmQp qp;
  wire::Transport transport = wire::Transport::rc;  // rc or uc
  std::uint16_t port = 0;                           // number of the service
  std::uint32_t mtu = 4096;                         // 256 .. 4096
  std::uint8_t ack_timeout = 18;                    // 0..31
  std::uint8_t retry_count = 7;                     // 0..7
  wire::IpAddress source, destination;
  QpClass path = {};
  PrivateData data{};
};

struct ConnectReply {
  CmIds ids;  // local is the replier's
  CmQp qp;
  PrivateData data{};
};

/// Kind and ids of a message; `local` is the sender's.
struct CmHeading {
  wire::CmMessage message{};
  std::uint64_t transaction = 0;
  CmIds ids;
};

/// A message of two ids and up to 56 bytes: ReadyToUse, DisconnectReply.
MadBytes to_mad(wire::CmMessage message, std::uint64_t transaction, const CmIds& ids,
                const PrivateData& data = {});
MadBytes to_mad(std::uint64_t transaction, const ConnectRequest& request);
MadBytes to_mad(std::uint64_t transaction, const ConnectReply& reply);
/// Returns a ConnectReject "by the consumer", with a reason as text (up to 148 bytes).
MadBytes refusal_mad(std::uint64_t transaction, const CmIds& ids, std::string_view why);
MadBytes disconnect_mad(std::uint64_t transaction, const CmIds& ids, std::uint32_t remote_qpn);

/// Read the payload of a UD SEND to QP 1. They return nothing if it is another message, or
/// truncated.
std::optional<CmHeading> read_heading(wire::Bytes mad) noexcept;
std::optional<ConnectRequest> read_request(wire::Bytes mad) noexcept;
std::optional<ConnectReply> read_reply(wire::Bytes mad) noexcept;
/// Returns the reason of a ConnectReject: its text, or its number if it has no text.
std::string read_refusal(wire::Bytes mad);
/// Returns the private data of a DisconnectReply; empty if `mad` is another message.
wire::Bytes data_of_pair(wire::Bytes mad) noexcept;

}  // namespace lw::gen
