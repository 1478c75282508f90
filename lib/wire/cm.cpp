// SPDX-License-Identifier: BSD-3-Clause
#include "wire/cm.h"

#include <algorithm>

namespace lw::wire {
namespace {

template <auto Member>
constexpr auto hex(std::string_view name, std::uint8_t digits, std::uint8_t shift = 0,
                   std::uint8_t bits = 0) {
  return field<Member>(
      {.name = name, .base = Base::hex, .digits = digits, .shift = shift, .bits = bits});
}

constexpr auto kToIpService = [](const CmReq& req) { return req.to_ip_service(); };
constexpr auto kIsIpv4 = [](const CmIpService& s) { return s.ip_version.get() >> 4 == 4; };

/// Whether a GID is an IPv4 address, ::ffff:a.b.c.d.
template <Ipv6Address CmReq::* Gid>
constexpr auto kIsMapped = [](const CmReq& req) {
  const auto& bytes = (req.*Gid).bytes;
  const auto zeros = std::ranges::count(bytes.begin(), bytes.begin() + 10, std::byte{0});
  return zeros == 10 && bytes[10] == std::byte{0xff} && bytes[11] == std::byte{0xff};
};

template <auto Predicate>
constexpr auto kNot = [](const auto& header) { return !Predicate(header); };

constexpr std::array kReqFields = {
    hex<&CmReq::local_comm_id>("infiniband.cm.req", 8),
    hex<&CmReq::service_id>("infiniband.cm.req.serviceid", 16),
    when<CmReq>(kToIpService,
                field<&CmReq::service_id>({.name = "infiniband.cm.req.serviceid.prefix",
                                           .base = Base::bytes,
                                           .digits = 10,
                                           .shift = 24})),
    when<CmReq>(kToIpService,
                hex<&CmReq::service_id>("infiniband.cm.req.serviceid.protocol", 2, 16, 8)),
    when<CmReq>(kToIpService,
                hex<&CmReq::service_id>("infiniband.cm.req.serviceid.dport", 4, 0, 16)),
    hex<&CmReq::local_ca_guid>("infiniband.cm.req.localcaguid", 16),
    hex<&CmReq::local_q_key>("infiniband.cm.req.localqkey", 8),
    hex<&CmReq::local_qpn>("infiniband.cm.req.localqpn", 6),
    hex<&CmReq::responder_resources>("infiniband.cm.req.responderres", 2),
    hex<&CmReq::local_ee_context>("infiniband.cm.req.localeecn", 6),
    hex<&CmReq::initiator_depth>("infiniband.cm.req.initdepth", 2),
    hex<&CmReq::remote_ee_context>("infiniband.cm.req.remoteeecn", 6),
    hex<&CmReq::remote_timeout_transport>("infiniband.cm.req.remoteresptout", 2, 3),
    hex<&CmReq::remote_timeout_transport>("infiniband.cm.req.transpsvctype", 2, 1, 2),
    hex<&CmReq::remote_timeout_transport>("infiniband.cm.req.e2eflowctrl", 2, 0, 1),
    hex<&CmReq::starting_psn>("infiniband.cm.req.startpsn", 6),
    hex<&CmReq::local_timeout_retries>("infiniband.cm.req.localresptout", 2, 3),
    hex<&CmReq::local_timeout_retries>("infiniband.cm.req.retrcount", 2, 0, 3),
    hex<&CmReq::p_key>("infiniband.cm.req.pkey", 4),
    hex<&CmReq::mtu_rnr>("infiniband.cm.req.pppmtu", 2, 4),
    hex<&CmReq::mtu_rnr>("infiniband.cm.req.rdcexist", 2, 3, 1),
    hex<&CmReq::mtu_rnr>("infiniband.cm.req.rnrretrcount", 2, 0, 3),
    hex<&CmReq::cm_retries>("infiniband.cm.req.maxcmretr", 2, 4),
    hex<&CmReq::cm_retries>("infiniband.cm.req.srq", 2, 3, 1),
    hex<&CmReq::cm_retries>("infiniband.cm.req.ext_transport", 2, 0, 3),
    field<&CmReq::primary_local_lid>({.name = "infiniband.cm.req.prim_locallid"}),
    field<&CmReq::primary_remote_lid>({.name = "infiniband.cm.req.prim_remotelid"}),
    when<CmReq>(kNot<kIsMapped<&CmReq::primary_local_gid>>,
                field<&CmReq::primary_local_gid>({.name = "infiniband.cm.req.prim_localgid"})),
    when<CmReq>(kIsMapped<&CmReq::primary_local_gid>,
                field<&CmReq::primary_local_gid>(
                    {.name = "infiniband.cm.req.prim_localgid_ipv4", .base = Base::mapped_ipv4})),
    when<CmReq>(kNot<kIsMapped<&CmReq::primary_remote_gid>>,
                field<&CmReq::primary_remote_gid>({.name = "infiniband.cm.req.prim_remotegid"})),
    when<CmReq>(kIsMapped<&CmReq::primary_remote_gid>,
                field<&CmReq::primary_remote_gid>(
                    {.name = "infiniband.cm.req.prim_remotegid_ipv4", .base = Base::mapped_ipv4})),
    hex<&CmReq::primary_flow_rate>("infiniband.cm.req.prim_flowlabel", 8, 12),
    hex<&CmReq::primary_flow_rate>("infiniband.cm.req.prim_pktrate", 8, 0, 6),
    hex<&CmReq::primary_traffic_class>("infiniband.cm.req.prim_tfcclass", 2),
    hex<&CmReq::primary_hop_limit>("infiniband.cm.req.prim_hoplim", 2),
    hex<&CmReq::primary_sl_local>("infiniband.cm.req.prim_sl", 2, 4),
    hex<&CmReq::primary_sl_local>("infiniband.cm.req.prim_subnetlocal", 2, 3, 1),
    hex<&CmReq::primary_ack_timeout>("infiniband.cm.req.prim_localacktout", 2, 3),
    field<&CmReq::alternate_local_lid>({.name = "infiniband.cm.req.alt_locallid"}),
    field<&CmReq::alternate_remote_lid>({.name = "infiniband.cm.req.alt_remotelid"}),
    field<&CmReq::alternate_local_gid>(
        {.name = "infiniband.cm.req.alt_localgid", .base = Base::bytes}),
    field<&CmReq::alternate_remote_gid>(
        {.name = "infiniband.cm.req.alt_remotegid", .base = Base::bytes}),
    hex<&CmReq::alternate_flow_rate>("infiniband.cm.req.alt_flowlabel", 8, 12),
    hex<&CmReq::alternate_flow_rate>("infiniband.cm.req.alt_pktrate", 8, 0, 6),
    hex<&CmReq::alternate_traffic_class>("infiniband.cm.req.alt_tfcclass", 2),
    hex<&CmReq::alternate_hop_limit>("infiniband.cm.req.alt_hoplim", 2),
    hex<&CmReq::alternate_sl_local>("infiniband.cm.req.alt_sl", 2, 4),
    hex<&CmReq::alternate_sl_local>("infiniband.cm.req.alt_subnetlocal", 2, 3, 1),
    hex<&CmReq::alternate_ack_timeout>("infiniband.cm.req.alt_localacktout", 2, 3),
};

constexpr std::array kIpServiceFields = {
    hex<&CmIpService::version>("infiniband.cm.req.ip_cm.majv", 2, 4),
    hex<&CmIpService::version>("infiniband.cm.req.ip_cm.minv", 2, 0, 4),
    hex<&CmIpService::ip_version>("infiniband.cm.req.ip_cm.ipv", 2, 4),
    hex<&CmIpService::source_port>("infiniband.cm.req.ip_cm.sport", 4),
    when<CmIpService>(kIsIpv4, field<&CmIpService::source>({.name = "infiniband.cm.req.ip_cm.sip4",
                                                            .base = Base::mapped_ipv4})),
    when<CmIpService>(kIsIpv4,
                      field<&CmIpService::destination>(
                          {.name = "infiniband.cm.req.ip_cm.dip4", .base = Base::mapped_ipv4})),
    when<CmIpService>(kNot<kIsIpv4>,
                      field<&CmIpService::source>({.name = "infiniband.cm.req.ip_cm.sip6"})),
    when<CmIpService>(kNot<kIsIpv4>,
                      field<&CmIpService::destination>({.name = "infiniband.cm.req.ip_cm.dip6"})),
};

constexpr std::array kRepFields = {
    hex<&CmRep::local_comm_id>("infiniband.cm.rep", 8),
    hex<&CmRep::remote_comm_id>("infiniband.cm.rep.remotecommid", 8),
    hex<&CmRep::local_q_key>("infiniband.cm.rep.localqkey", 8),
    hex<&CmRep::local_qpn>("infiniband.cm.rep.localqpn", 6),
    hex<&CmRep::local_ee_context>("infiniband.cm.rep.localeecn", 6),
    hex<&CmRep::starting_psn>("infiniband.cm.rep.startpsn", 6),
    hex<&CmRep::responder_resources>("infiniband.cm.rep.respres", 2),
    hex<&CmRep::initiator_depth>("infiniband.cm.rep.initdepth", 2),
    hex<&CmRep::ack_delay_failover>("infiniband.cm.rep.tgtackdelay", 2, 3),
    hex<&CmRep::ack_delay_failover>("infiniband.cm.rep.failoveracc", 2, 1, 2),
    hex<&CmRep::ack_delay_failover>("infiniband.cm.rep.e2eflowctrl", 2, 0, 1),
    hex<&CmRep::rnr_srq>("infiniband.cm.rep.rnrretrcount", 2, 5),
    hex<&CmRep::rnr_srq>("infiniband.cm.rep.srq", 2, 4, 1),
    hex<&CmRep::local_ca_guid>("infiniband.cm.rep.localcaguid", 16),
};

constexpr std::array kRejFields = {
    hex<&CmRej::message_rejected>("infiniband.cm.rej.msgrej", 2, 6),
    hex<&CmRej::info_length>("infiniband.cm.rej.rejinfolen", 2, 1),
    hex<&CmRej::reason>("infiniband.cm.rej.reason", 4),
};

constexpr std::array kDreqFields = {
    hex<&CmDreq::remote_qpn>("infiniband.cm.req.remoteqpneecn", 6),
};

constexpr std::array kRejIds = {
    hex<&CmPair::local_comm_id>("infiniband.cm.rej.localcommid", 8),
    hex<&CmPair::remote_comm_id>("infiniband.cm.rej.remotecommid", 8),
};
constexpr std::array kRtuIds = {
    hex<&CmPair::local_comm_id>("infiniband.cm.rtu.localcommid", 8),
    hex<&CmPair::remote_comm_id>("infiniband.cm.rtu.remotecommid", 8),
};
constexpr std::array kDreqIds = {
    hex<&CmPair::local_comm_id>("infiniband.cm.dreq.localcommid", 8),
    hex<&CmPair::remote_comm_id>("infiniband.cm.dreq.remotecommid", 8),
};
constexpr std::array kDrepIds = {
    hex<&CmPair::local_comm_id>("infiniband.cm.drsp.localcommid", 8),
    hex<&CmPair::remote_comm_id>("infiniband.cm.drsp.remotecommid", 8),
};

}  // namespace

std::span<const FieldOf<CmReq>> cm_fields(const CmReq&) noexcept { return kReqFields; }
std::span<const FieldOf<CmIpService>> cm_fields(const CmIpService&) noexcept {
  return kIpServiceFields;
}
std::span<const FieldOf<CmRep>> cm_fields(const CmRep&) noexcept { return kRepFields; }
std::span<const FieldOf<CmRej>> cm_fields(const CmRej&) noexcept { return kRejFields; }
std::span<const FieldOf<CmDreq>> cm_fields(const CmDreq&) noexcept { return kDreqFields; }

std::span<const FieldOf<CmPair>> cm_id_fields(CmMessage message) noexcept {
  switch (message) {
    case CmMessage::rej:
      return kRejIds;
    case CmMessage::rtu:
      return kRtuIds;
    case CmMessage::dreq:
      return kDreqIds;
    case CmMessage::drep:
      return kDrepIds;
    default:
      return {};
  }
}

std::string_view reject_reason_name(std::uint16_t reason) noexcept {
  constexpr std::array<std::string_view, 36> kNames = {
      "",
      "No QP Available",
      "No EEC Available",
      "No Resources Available",
      "Timeout",
      "Unsupported Request",
      "Invalid Communication ID",
      "Invalid Communication Instance",
      "Invalid Service ID",
      "Invalid Transport Service Type",
      "Stale Connection",
      "RDC Does Not Exist",
      "Primary Remote Port GID Rejected",
      "Primary Remote Port LID Rejected",
      "Invalid Primary SL",
      "Invalid Primary Traffic Class",
      "Invalid Primary Hop Limit",
      "Invalid Primary Packet Rate",
      "Alternate Remote Port GID Rejected",
      "Alternate Remote Port LID Rejected",
      "Invalid Alternate SL",
      "Invalid Alternate Traffic Class",
      "Invalid Alternate Hop Limit",
      "Invalid Alternate Packet Rate",
      "Port and CM Redirection",
      "Port Redirection",
      "Invalid Path MTU",
      "Insufficient Responder Resources",
      "Consumer Reject",
      "RNR Retry Count Reject",
      "Duplicate Local Communication ID",
      "Invalid Class Version",
      "Invalid Primary Flow Label",
      "Invalid Alternate Flow Label",
      "",
      "Vendor Option Not Supported",
  };
  return reason < kNames.size() ? kNames[reason] : std::string_view{};
}

std::string_view sidr_status_name(std::uint8_t status) noexcept {
  constexpr std::array<std::string_view, 6> kNames = {
      "QPN and Q_Key Valid", "Service ID Not Supported",     "Rejected by Service Provider",
      "No QP Available",     "Request Should Be Redirected", "Unsupported Version",
  };
  return status < kNames.size() ? kNames[status] : std::string_view{};
}

std::string_view name_of(CmMessage message) noexcept {
  switch (message) {
    case CmMessage::req:
      return "ConnectRequest";
    case CmMessage::mra:
      return "MsgRcptAck";
    case CmMessage::rej:
      return "ConnectReject";
    case CmMessage::rep:
      return "ConnectReply";
    case CmMessage::rtu:
      return "ReadyToUse";
    case CmMessage::dreq:
      return "DisconnectRequest";
    case CmMessage::drep:
      return "DisconnectReply";
    case CmMessage::sidr_req:
      return "ServiceIDResReq";
    case CmMessage::sidr_rep:
      return "ServiceIDResReqResp";
    case CmMessage::lap:
      return "LoadAlternatePath";
    case CmMessage::apr:
      return "AlternatePathResponse";
  }
  return {};
}

}  // namespace lw::wire
