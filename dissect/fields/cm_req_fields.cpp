// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/cm_req_fields.h"

#include <algorithm>

#include <fmt/format.h>

namespace lw::dissect {
namespace {

/// The address family of the RDMA IP CM service: its ServiceID begins 00 00 00 00 01, and the
/// request's private data name the IP addresses. (IBTA vol. 1, annex A11)
constexpr std::uint64_t kIpServicePrefix = 0x0000000001;

/// "00ff..": as Wireshark shows bytes.
std::string bytes_text(wire::Bytes bytes) {
  std::string text;
  for (const std::byte b : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

bool is_mapped_ipv4(const wire::Ipv6Address& gid) noexcept {
  const auto zeros = std::ranges::count(gid.bytes.begin(), gid.bytes.begin() + 10, std::byte{0});
  return zeros == 10 && gid.bytes[10] == std::byte{0xff} && gid.bytes[11] == std::byte{0xff};
}

wire::Ipv4Address last_four(const wire::Ipv6Address& address) noexcept {
  wire::Ipv4Address ipv4;
  std::copy_n(address.bytes.begin() + 12, 4, ipv4.bytes.begin());
  return ipv4;
}

void append_gid(FieldList& fields, std::string_view name, std::string_view ipv4_name,
                const wire::Ipv6Address& gid) {
  if (is_mapped_ipv4(gid)) {
    fields.text(ipv4_name, to_string(last_four(gid)));
  } else {
    fields.text(name, to_string(gid));
  }
}

/// What the private data of a request to an IP service begin with.
struct IpService {
  wire::Be8 version;     // major 4, minor 4
  wire::Be8 ip_version;  // 4, reserved 4
  wire::Be16 source_port;
  wire::Ipv6Address source, destination;
};
static_assert(sizeof(IpService) == 36 && alignof(IpService) == 1);

void append_ip_service(FieldList& fields, const wire::CmReq& req) {
  const auto* ip = wire::view<IpService>(wire::Bytes(req.private_data));
  const unsigned version = ip->ip_version.get() >> 4;
  fields.hex("infiniband.cm.req.ip_cm.majv", ip->version.get() >> 4, 2);
  fields.hex("infiniband.cm.req.ip_cm.minv", ip->version.get() & 15, 2);
  fields.hex("infiniband.cm.req.ip_cm.ipv", version, 2);
  fields.hex("infiniband.cm.req.ip_cm.sport", ip->source_port.get(), 4);
  if (version == 4) {
    fields.text("infiniband.cm.req.ip_cm.sip4", to_string(last_four(ip->source)));
    fields.text("infiniband.cm.req.ip_cm.dip4", to_string(last_four(ip->destination)));
  } else {
    fields.text("infiniband.cm.req.ip_cm.sip6", to_string(ip->source));
    fields.text("infiniband.cm.req.ip_cm.dip6", to_string(ip->destination));
  }
}

void append_service(FieldList& fields, std::uint64_t service) {
  fields.hex("infiniband.cm.req.serviceid", service, 16);
  if (service >> 24 != kIpServicePrefix) return;
  fields.text("infiniband.cm.req.serviceid.prefix", fmt::format("{:010x}", kIpServicePrefix));
  fields.hex("infiniband.cm.req.serviceid.protocol", service >> 16 & 0xff, 2);
  fields.hex("infiniband.cm.req.serviceid.dport", service & 0xffff, 4);
}

void append_req_connection(FieldList& fields, const wire::CmReq& req) {
  fields.hex("infiniband.cm.req.localcaguid", req.local_ca_guid.get(), 16);
  fields.hex("infiniband.cm.req.localqkey", req.local_q_key.get(), 8);
  fields.hex("infiniband.cm.req.localqpn", req.local_qpn.get(), 6);
  fields.hex("infiniband.cm.req.responderres", req.responder_resources.get(), 2);
  fields.hex("infiniband.cm.req.localeecn", req.local_ee_context.get(), 6);
  fields.hex("infiniband.cm.req.initdepth", req.initiator_depth.get(), 2);
  fields.hex("infiniband.cm.req.remoteeecn", req.remote_ee_context.get(), 6);
  fields.hex("infiniband.cm.req.remoteresptout", req.remote_timeout_transport.get() >> 3, 2);
  fields.hex("infiniband.cm.req.transpsvctype", req.transport_service(), 2);
  fields.hex("infiniband.cm.req.e2eflowctrl", req.remote_timeout_transport.get() & 1, 2);
  fields.hex("infiniband.cm.req.startpsn", req.first_psn().value(), 6);
  fields.hex("infiniband.cm.req.localresptout", req.local_timeout_retries.get() >> 3, 2);
  fields.hex("infiniband.cm.req.retrcount", req.retry_count(), 2);
  fields.hex("infiniband.cm.req.pkey", req.p_key.get(), 4);
  fields.hex("infiniband.cm.req.pppmtu", req.path_mtu_code(), 2);
  fields.hex("infiniband.cm.req.rdcexist", req.mtu_rnr.get() >> 3 & 1, 2);
  fields.hex("infiniband.cm.req.rnrretrcount", req.rnr_retry_count(), 2);
  fields.hex("infiniband.cm.req.maxcmretr", req.cm_retries.get() >> 4, 2);
  fields.hex("infiniband.cm.req.srq", req.cm_retries.get() >> 3 & 1, 2);
  fields.hex("infiniband.cm.req.ext_transport", req.cm_retries.get() & 7, 2);
}

void append_req_path(FieldList& fields, const wire::CmReq& req) {
  fields.number("infiniband.cm.req.prim_locallid", req.primary_local_lid.get());
  fields.number("infiniband.cm.req.prim_remotelid", req.primary_remote_lid.get());
  append_gid(fields, "infiniband.cm.req.prim_localgid", "infiniband.cm.req.prim_localgid_ipv4",
             req.primary_local_gid);
  append_gid(fields, "infiniband.cm.req.prim_remotegid", "infiniband.cm.req.prim_remotegid_ipv4",
             req.primary_remote_gid);
  fields.hex("infiniband.cm.req.prim_flowlabel", req.primary_flow_rate.get() >> 12, 8);
  fields.hex("infiniband.cm.req.prim_pktrate", req.primary_flow_rate.get() & 0x3f, 8);
  fields.hex("infiniband.cm.req.prim_tfcclass", req.primary_traffic_class.get(), 2);
  fields.hex("infiniband.cm.req.prim_hoplim", req.primary_hop_limit.get(), 2);
  fields.hex("infiniband.cm.req.prim_sl", req.primary_sl_local.get() >> 4, 2);
  fields.hex("infiniband.cm.req.prim_subnetlocal", req.primary_sl_local.get() >> 3 & 1, 2);
  fields.hex("infiniband.cm.req.prim_localacktout", req.primary_ack_timeout.get() >> 3, 2);
}

/// Wireshark shows the alternate path's GIDs as bytes.
void append_req_alternate_path(FieldList& fields, const wire::CmReq& req) {
  fields.number("infiniband.cm.req.alt_locallid", req.alternate_local_lid.get());
  fields.number("infiniband.cm.req.alt_remotelid", req.alternate_remote_lid.get());
  fields.text("infiniband.cm.req.alt_localgid", bytes_text(req.alternate_local_gid.bytes));
  fields.text("infiniband.cm.req.alt_remotegid", bytes_text(req.alternate_remote_gid.bytes));
  fields.hex("infiniband.cm.req.alt_flowlabel", req.alternate_flow_rate.get() >> 12, 8);
  fields.hex("infiniband.cm.req.alt_pktrate", req.alternate_flow_rate.get() & 0x3f, 8);
  fields.hex("infiniband.cm.req.alt_tfcclass", req.alternate_traffic_class.get(), 2);
  fields.hex("infiniband.cm.req.alt_hoplim", req.alternate_hop_limit.get(), 2);
  fields.hex("infiniband.cm.req.alt_sl", req.alternate_sl_local.get() >> 4, 2);
  fields.hex("infiniband.cm.req.alt_subnetlocal", req.alternate_sl_local.get() >> 3 & 1, 2);
  fields.hex("infiniband.cm.req.alt_localacktout", req.alternate_ack_timeout.get() >> 3, 2);
}

}  // namespace

void append_cm_req(FieldList& fields, const wire::CmReq& req) {
  fields.hex("infiniband.cm.req", req.local_comm_id.get(), 8);
  append_service(fields, req.service_id.get());
  append_req_connection(fields, req);
  append_req_path(fields, req);
  append_req_alternate_path(fields, req);
  if (req.service_id.get() >> 24 == kIpServicePrefix) append_ip_service(fields, req);
}

}  // namespace lw::dissect
