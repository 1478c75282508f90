// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "wire/field.h"

namespace lw::wire {

/// Attribute ids of the communication manager's messages. (IBTA vol. 1, table 91)
enum class CmMessage : std::uint16_t {
  req = 0x10,
  mra = 0x11,
  rej = 0x12,
  rep = 0x13,
  rtu = 0x14,
  dreq = 0x15,
  drep = 0x16,
  sidr_req = 0x17,
  sidr_rep = 0x18,
  lap = 0x19,
  apr = 0x1a,
};

/// "ConnectRequest", ... as the specification names them; empty for another attribute.
std::string_view name_of(CmMessage message) noexcept;

/// A connection request (REQ), after the MAD header. (IBTA vol. 1, 12.6.5)
struct CmReq {
  Be32 local_comm_id;
  Be32 reserved1;
  Be64 service_id;
  Be64 local_ca_guid;
  Be32 reserved2;
  Be32 local_q_key;
  Be24 local_qpn;
  Be8 responder_resources;
  Be24 local_ee_context;
  Be8 initiator_depth;
  Be24 remote_ee_context;
  Be8 remote_timeout_transport;  // remote CM response timeout 5, transport 2, flow control 1
  Be24 starting_psn;
  Be8 local_timeout_retries;  // local CM response timeout 5, retry count 3
  Be16 p_key;
  Be8 mtu_rnr;     // path MTU 4, RDC exists 1, RNR retry count 3
  Be8 cm_retries;  // max CM retries 4, SRQ 1, extended transport type 3
  Be16 primary_local_lid, primary_remote_lid;
  Ipv6Address primary_local_gid, primary_remote_gid;
  Be32 primary_flow_rate;  // flow label 20, reserved 6, packet rate 6
  Be8 primary_traffic_class, primary_hop_limit;
  Be8 primary_sl_local;     // SL 4, subnet local 1
  Be8 primary_ack_timeout;  // local ACK timeout 5
  Be16 alternate_local_lid, alternate_remote_lid;
  Ipv6Address alternate_local_gid, alternate_remote_gid;
  Be32 alternate_flow_rate;
  Be8 alternate_traffic_class, alternate_hop_limit, alternate_sl_local, alternate_ack_timeout;
  std::array<std::byte, 92> private_data;

  /// A request to the RDMA IP CM service: its private data start with a CmIpService. (IBTA vol. 1,
  /// annex A11)
  [[nodiscard]] bool to_ip_service() const noexcept { return service_id.get() >> 24 == 1; }
  [[nodiscard]] Psn first_psn() const noexcept { return Psn{starting_psn.get()}; }
  /// 0 RC, 1 UC, 2 RD, 3 see the extended type (XRC).
  [[nodiscard]] std::uint8_t transport_service() const noexcept {
    return remote_timeout_transport.get() >> 1 & 3;
  }
  /// 1..5: 256..4096 bytes.
  [[nodiscard]] std::uint8_t path_mtu_code() const noexcept { return mtu_rnr.get() >> 4; }
  [[nodiscard]] std::uint8_t rnr_retry_count() const noexcept { return mtu_rnr.get() & 7; }
  [[nodiscard]] std::uint8_t retry_count() const noexcept {
    return local_timeout_retries.get() & 7;
  }
  /// The timer of the requester's QP is 4.096 us, doubled as often as this says; 0: none.
  [[nodiscard]] std::uint8_t ack_timeout() const noexcept { return primary_ack_timeout.get() >> 3; }
};
static_assert(sizeof(CmReq) == 232 && alignof(CmReq) == 1);

/// The start of the private data of a request to an IP service. (IBTA vol. 1, annex A11)
struct CmIpService {
  Be8 version;     // major 4, minor 4
  Be8 ip_version;  // 4, reserved 4
  Be16 source_port;
  Ipv6Address source, destination;  // an IPv4 address in the last four bytes
};
static_assert(sizeof(CmIpService) == 36 && alignof(CmIpService) == 1);

/// A reply (REP): it accepts the request. (IBTA vol. 1, 12.6.8)
struct CmRep {
  Be32 local_comm_id, remote_comm_id;
  Be32 local_q_key;
  Be24 local_qpn;
  Be8 reserved1;
  Be24 local_ee_context;
  Be8 reserved2;
  Be24 starting_psn;
  Be8 reserved3;
  Be8 responder_resources, initiator_depth;
  Be8 ack_delay_failover;  // target ACK delay 5, failover accepted 2, flow control 1
  Be8 rnr_srq;             // RNR retry count 3, SRQ 1
  Be64 local_ca_guid;
  std::array<std::byte, 196> private_data;

  [[nodiscard]] Psn first_psn() const noexcept { return Psn{starting_psn.get()}; }
};
static_assert(sizeof(CmRep) == 232 && alignof(CmRep) == 1);

/// The start of RTU, REJ, MRA, DREQ and DREP.
struct CmPair {
  Be32 local_comm_id, remote_comm_id;
};
static_assert(sizeof(CmPair) == 8 && alignof(CmPair) == 1);

/// A reject (REJ). (IBTA vol. 1, 12.6.7)
struct CmRej {
  CmPair ids;
  Be8 message_rejected;  // 2 bits, then reserved
  Be8 info_length;       // 7 bits, then reserved
  Be16 reason;
  std::array<std::byte, 220> info_and_private_data;
};
static_assert(sizeof(CmRej) == 232 && alignof(CmRej) == 1);

/// A disconnect request (DREQ). (IBTA vol. 1, 12.6.10)
struct CmDreq {
  CmPair ids;
  Be24 remote_qpn;
  Be8 reserved;
  std::array<std::byte, 220> private_data;
};
static_assert(sizeof(CmDreq) == 232 && alignof(CmDreq) == 1);

/// "Message received" (MRA): a REQ or REP takes longer to answer. (IBTA vol. 1, 12.6.6)
struct CmMra {
  CmPair ids;
  Be8 message;          // 2 bits: 0 REQ, 1 REP, 2 LAP
  Be8 service_timeout;  // 5 bits
  std::array<std::byte, 222> private_data;

  /// How long the sender needs at most is 4.096 us, doubled as often as this says.
  [[nodiscard]] std::uint8_t timeout() const noexcept { return service_timeout.get() >> 3; }
};
static_assert(sizeof(CmMra) == 232 && alignof(CmMra) == 1);

/// A request for the QP of a datagram service (SIDR_REQ). (IBTA vol. 1, 12.11.1)
struct CmSidrReq {
  Be32 request_id;
  Be16 p_key, reserved;
  Be64 service_id;
  std::array<std::byte, 216> private_data;
};
static_assert(sizeof(CmSidrReq) == 232 && alignof(CmSidrReq) == 1);

/// The answer to it (SIDR_REP). (IBTA vol. 1, 12.11.2)
struct CmSidrRep {
  Be32 request_id;
  Be8 status;  // 0: the QP is valid
  Be8 info_length;
  Be16 vendor_high;
  Be24 qpn;
  Be8 vendor_low;
  Be64 service_id;
  Be32 q_key;
  std::array<std::byte, 208> info_and_private_data;
};
static_assert(sizeof(CmSidrRep) == 232 && alignof(CmSidrRep) == 1);

/// The specification's words for the reason of a REJ, "Invalid Service ID", and for the status of a
/// SIDR_REP; empty for a reserved code. (IBTA vol. 1, 12.6.7.2 and 12.11.2.1)
std::string_view reject_reason_name(std::uint16_t reason) noexcept;
std::string_view sidr_status_name(std::uint8_t status) noexcept;

/// The fields table of a message, without the communication IDs of a CmPair.
std::span<const FieldOf<CmReq>> cm_fields(const CmReq&) noexcept;
std::span<const FieldOf<CmIpService>> cm_fields(const CmIpService&) noexcept;
std::span<const FieldOf<CmRep>> cm_fields(const CmRep&) noexcept;
std::span<const FieldOf<CmRej>> cm_fields(const CmRej&) noexcept;
std::span<const FieldOf<CmDreq>> cm_fields(const CmDreq&) noexcept;
/// The fields table of a message's CmPair; empty for a message that doesn't start with one.
std::span<const FieldOf<CmPair>> cm_id_fields(CmMessage message) noexcept;

}  // namespace lw::wire
