// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "gen/perf/session/session_params.h"
#include "wire/address.h"
#include "wire/cm.h"
#include "wire/mad.h"

namespace lw::gen {

/// A communication manager's datagram. (IBTA vol. 1, 12.6; the addresses in a request's private
/// data by annex A11, as Linux' rdma_cm has them for its TCP port space)
using MadBytes = std::array<std::byte, wire::kMadSize>;

/// The two ends' names for a connection.
struct CmIds {
  std::uint32_t local = 0, remote = 0;
};

/// What both a request and its reply say of the QP that sends them.
struct CmQp {
  std::uint32_t qpn = 0;                                        // 24 bits
  wire::Psn first_psn;                                          // that its peer shall begin with
  std::uint8_t responder_resources = 16, initiator_depth = 16;  // READs and atomics in, out
  std::uint8_t rnr_retry = 7;                                   // 0..7
};

struct ConnectRequest {
  std::uint32_t comm_id = 0;
  CmQp qp;
  wire::Transport transport = wire::Transport::rc;  // rc or uc
  std::uint16_t port = 0;                           // names the service
  std::uint32_t mtu = 4096;                         // 256 .. 4096
  std::uint8_t ack_timeout = 18;                    // 0..31
  std::uint8_t retry_count = 7;                     // 0..7
  wire::IpAddress source, destination;
  PrivateData data{};
};

struct ConnectReply {
  CmIds ids;  // as the replier sees them
  CmQp qp;
  PrivateData data{};
};

/// Any message's kind and ids; `local` is the sender's.
struct CmHeading {
  wire::CmMessage message{};
  std::uint64_t transaction = 0;
  CmIds ids;
};

/// A message that is an ids pair and up to 56 bytes: ReadyToUse, DisconnectReply.
MadBytes to_mad(wire::CmMessage message, std::uint64_t transaction, const CmIds& ids,
                const PrivateData& data = {});
MadBytes to_mad(std::uint64_t transaction, const ConnectRequest& request);
MadBytes to_mad(std::uint64_t transaction, const ConnectReply& reply);
/// A refusal "by the consumer", with a sentence for a person (up to 148 bytes).
MadBytes refusal_mad(std::uint64_t transaction, const CmIds& ids, std::string_view why);
MadBytes disconnect_mad(std::uint64_t transaction, const CmIds& ids, std::uint32_t remote_qpn);

/// `mad` is a UD SEND's payload to QP 1: nothing when it is no such message, or cut.
std::optional<CmHeading> read_heading(wire::Bytes mad) noexcept;
std::optional<ConnectRequest> read_request(wire::Bytes mad) noexcept;
std::optional<ConnectReply> read_reply(wire::Bytes mad) noexcept;
/// Why a ConnectReject refuses: its sentence, or its reason's number where it has none.
std::string read_refusal(wire::Bytes mad);
/// The private data of a DisconnectReply, where `mad` is one.
wire::Bytes data_of_pair(wire::Bytes mad) noexcept;

}  // namespace lw::gen
