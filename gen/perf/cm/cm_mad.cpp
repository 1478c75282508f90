// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/cm/cm_mad.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace lw::gen {
namespace {

using wire::Be16, wire::Be64, wire::Be8;
using wire::CmMessage;

constexpr std::uint64_t kTcpPortSpace = 0x1060000;  // RDMA_PS_TCP, shifted as Linux does
constexpr std::uint16_t kConsumerReject = 28;
constexpr std::size_t kRejectInfo = 72;  // additional information comes before the private data

static_assert(sizeof(wire::CmIpService) + sizeof(PrivateData) == sizeof(wire::CmReq::private_data));

/// Returns an address for the private data: IPv4 is in the last bytes, after zeros.
wire::Ipv6Address padded(const wire::IpAddress& ip) noexcept {
  if (const auto* v6 = std::get_if<wire::Ipv6Address>(&ip)) return *v6;
  wire::Ipv6Address bytes;
  std::ranges::copy(std::get<wire::Ipv4Address>(ip).bytes, bytes.bytes.begin() + 12);
  return bytes;
}

wire::IpAddress ip_of(const wire::Ipv6Address& bytes, unsigned version) noexcept {
  if (version == 6) return bytes;
  wire::Ipv4Address v4;
  std::copy(bytes.bytes.begin() + 12, bytes.bytes.end(), v4.bytes.begin());
  return v4;
}

template <class Body>
MadBytes mad_of(CmMessage message, std::uint64_t transaction, const Body& body) noexcept {
  static_assert(sizeof(wire::Mad) + sizeof(Body) <= wire::kMadSize);
  MadBytes bytes{};
  wire::MadFields head;
  head.transaction_id = transaction;
  head.attribute_id = static_cast<std::uint16_t>(message);
  wire::view<wire::Mad>(wire::MutableBytes(bytes))->set(head);
  std::memcpy(bytes.data() + sizeof(wire::Mad), &body, sizeof body);
  return bytes;
}

template <class Body>
const Body* body_of(wire::Bytes mad) noexcept {
  return wire::view_at<Body>(mad, sizeof(wire::Mad));
}

wire::CmPair pair_of(const CmIds& ids) noexcept {
  wire::CmPair pair;
  pair.local_comm_id.set(ids.local);
  pair.remote_comm_id.set(ids.remote);
  return pair;
}

struct PairWithData {
  wire::CmPair ids;
  PrivateData data;
};

std::uint8_t mtu_code(std::uint32_t mtu) noexcept {  // 256 is 1
  return static_cast<std::uint8_t>(std::countr_zero(mtu) - 7);
}

void fill_path(wire::CmReq& req, const ConnectRequest& request) noexcept {
  constexpr std::uint16_t kNoLid = 0xffff;  // RoCE has none
  constexpr int kLabelShift = 12, kServiceLevelShift = 4;
  req.primary_local_lid.set(kNoLid);
  req.primary_remote_lid.set(kNoLid);
  req.primary_local_gid = gid_of(request.source);
  req.primary_remote_gid = gid_of(request.destination);
  req.primary_flow_rate.set(request.path.flow_label << kLabelShift);
  req.primary_traffic_class.set(request.path.traffic_class);
  req.primary_hop_limit.set(request.path.hop_limit);
  req.primary_sl_local.set(
      static_cast<std::uint8_t>(request.path.service_level << kServiceLevelShift));
  req.primary_ack_timeout.set(static_cast<std::uint8_t>(request.ack_timeout << 3));
}

}  // namespace

MadBytes to_mad(CmMessage message, std::uint64_t transaction, const CmIds& ids,
                const PrivateData& data) {
  return mad_of(message, transaction, PairWithData{pair_of(ids), data});
}

MadBytes to_mad(std::uint64_t transaction, const ConnectRequest& request) {
  constexpr std::uint8_t kResponseTimeout = 20;  // 4.3 s
  constexpr std::uint8_t kCmRetries = 15;
  wire::CmReq req{};
  req.local_comm_id.set(request.comm_id);
  req.service_id.set(kTcpPortSpace | request.port);
  req.local_qpn.set(request.qp.qpn);
  req.responder_resources.set(request.qp.responder_resources);
  req.initiator_depth.set(request.qp.initiator_depth);
  const bool uc = request.transport == wire::Transport::uc;
  const std::uint8_t service = uc ? 1 << 1 : 1;  // RC with end-to-end flow control
  req.remote_timeout_transport.set(static_cast<std::uint8_t>(kResponseTimeout << 3 | service));
  req.starting_psn.set(request.qp.first_psn.value());
  req.local_timeout_retries.set(
      static_cast<std::uint8_t>(kResponseTimeout << 3 | (request.retry_count & 7)));
  req.p_key.set(request.path.p_key);
  req.mtu_rnr.set(
      static_cast<std::uint8_t>(mtu_code(request.mtu) << 4 | (request.qp.rnr_retry & 7)));
  req.cm_retries.set(kCmRetries << 4);
  fill_path(req, request);
  wire::CmIpService addresses{};
  addresses.ip_version.set(std::holds_alternative<wire::Ipv4Address>(request.source) ? 4 << 4
                                                                                     : 6 << 4);
  addresses.source = padded(request.source);
  addresses.destination = padded(request.destination);
  std::memcpy(req.private_data.data(), &addresses, sizeof addresses);
  std::ranges::copy(request.data, req.private_data.begin() + sizeof addresses);
  return mad_of(CmMessage::req, transaction, req);
}

MadBytes to_mad(std::uint64_t transaction, const ConnectReply& reply) {
  wire::CmRep rep{};
  rep.local_comm_id.set(reply.ids.local);
  rep.remote_comm_id.set(reply.ids.remote);
  rep.local_qpn.set(reply.qp.qpn);
  rep.starting_psn.set(reply.qp.first_psn.value());
  rep.responder_resources.set(reply.qp.responder_resources);
  rep.initiator_depth.set(reply.qp.initiator_depth);
  rep.ack_delay_failover.set(1);  // end-to-end flow control
  rep.rnr_srq.set(static_cast<std::uint8_t>(reply.qp.rnr_retry << 5));
  std::ranges::copy(reply.data, rep.private_data.begin());
  return mad_of(CmMessage::rep, transaction, rep);
}

MadBytes refusal_mad(std::uint64_t transaction, const CmIds& ids, std::string_view why) {
  wire::CmRej rej{};
  rej.ids = pair_of(ids);
  rej.reason.set(kConsumerReject);
  const std::size_t room = rej.info_and_private_data.size() - kRejectInfo;
  std::memcpy(rej.info_and_private_data.data() + kRejectInfo, why.data(),
              std::min(why.size(), room));
  return mad_of(CmMessage::rej, transaction, rej);
}

MadBytes disconnect_mad(std::uint64_t transaction, const CmIds& ids, std::uint32_t remote_qpn) {
  wire::CmDreq dreq{};
  dreq.ids = pair_of(ids);
  dreq.remote_qpn.set(remote_qpn);
  return mad_of(CmMessage::dreq, transaction, dreq);
}

std::optional<CmHeading> read_heading(wire::Bytes mad) noexcept {
  const auto* head = wire::view<wire::Mad>(mad);
  const auto* pair = body_of<wire::CmPair>(mad);
  if (head == nullptr || pair == nullptr || mad.size() < wire::kMadSize) return std::nullopt;
  if (head->management_class.get() != wire::kMadClassCommunication) return std::nullopt;
  CmHeading heading{.message = static_cast<CmMessage>(head->attribute_id.get()),
                    .transaction = head->transaction_id.get(),
                    .ids = {pair->local_comm_id.get(), pair->remote_comm_id.get()}};
  if (heading.message == CmMessage::req) heading.ids.remote = 0;
  return heading;
}

std::optional<ConnectRequest> read_request(wire::Bytes mad) noexcept {
  const auto* req = body_of<wire::CmReq>(mad);
  if (req == nullptr || req->transport_service() > 1) return std::nullopt;
  const std::uint64_t service = req->service_id.get();
  const std::uint8_t code = req->path_mtu_code();
  if ((service & ~std::uint64_t{0xffff}) != kTcpPortSpace || code < 1 || code > 5) {
    return std::nullopt;
  }
  const auto* addresses = wire::view<wire::CmIpService>(wire::Bytes(req->private_data));
  const unsigned version = addresses->ip_version.get() >> 4;
  ConnectRequest request{
      .comm_id = req->local_comm_id.get(),
      .qp = {.qpn = req->local_qpn.get(),
             .first_psn = req->first_psn(),
             .responder_resources = req->responder_resources.get(),
             .initiator_depth = req->initiator_depth.get(),
             .rnr_retry = req->rnr_retry_count()},
      .transport = req->transport_service() == 1 ? wire::Transport::uc : wire::Transport::rc,
      .port = static_cast<std::uint16_t>(service),
      .mtu = 128u << code,
      .ack_timeout = static_cast<std::uint8_t>(req->primary_ack_timeout.get() >> 3),
      .retry_count = req->retry_count(),
      .source = ip_of(addresses->source, version),
      .destination = ip_of(addresses->destination, version),
      .path = {.traffic_class = req->primary_traffic_class.get(),
               .hop_limit = req->primary_hop_limit.get(),
               .service_level = static_cast<std::uint8_t>(req->primary_sl_local.get() >> 4),
               .flow_label = req->primary_flow_rate.get() >> 12,
               .p_key = req->p_key.get()}};
  std::copy_n(req->private_data.begin() + sizeof *addresses, request.data.size(),
              request.data.begin());
  return request;
}

std::optional<ConnectReply> read_reply(wire::Bytes mad) noexcept {
  const auto* rep = body_of<wire::CmRep>(mad);
  if (rep == nullptr) return std::nullopt;
  ConnectReply reply{.ids = {rep->local_comm_id.get(), rep->remote_comm_id.get()},
                     .qp = {.qpn = rep->local_qpn.get(),
                            .first_psn = rep->first_psn(),
                            .responder_resources = rep->responder_resources.get(),
                            .initiator_depth = rep->initiator_depth.get(),
                            .rnr_retry = static_cast<std::uint8_t>(rep->rnr_srq.get() >> 5)}};
  std::copy_n(rep->private_data.begin(), reply.data.size(), reply.data.begin());
  return reply;
}

std::string read_refusal(wire::Bytes mad) {
  const auto* rej = body_of<wire::CmRej>(mad);
  if (rej == nullptr) return "a refusal that is cut";
  const auto text = wire::Bytes(rej->info_and_private_data).subspan(kRejectInfo);
  std::string why;
  for (const std::byte b : text) {
    const char c = static_cast<char>(b);
    if (c < ' ' || c > '~') break;
    why += c;
  }
  return why.empty() ? fmt::format("reason {}", rej->reason.get()) : why;
}

wire::Bytes data_of_pair(wire::Bytes mad) noexcept {
  return mad.size() < wire::kMadSize
             ? wire::Bytes{}
             : mad.subspan(sizeof(wire::Mad) + offsetof(PairWithData, data));
}

}  // namespace lw::gen
