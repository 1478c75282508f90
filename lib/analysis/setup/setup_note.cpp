// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/setup/setup_note.h"

#include <algorithm>
#include <cstring>

#include "wire/arp.h"
#include "wire/deth.h"
#include "wire/icmp.h"
#include "wire/mad.h"

namespace lw::analysis {
namespace {

using wire::Bytes;
using wire::CmMessage;
using Note = std::variant<CmNote, IcmpNote, NeighbourNote>;

// Connection managers.

/// A message, zeros behind what was captured of it. False: less than `least` bytes were.
template <class Message>
bool load_message(Bytes body, std::size_t least, Message& message) noexcept {
  if (body.size() < least) return false;
  message = {};
  std::memcpy(&message, body.data(), std::min(body.size(), sizeof message));
  return true;
}

/// Bytes of each message up to what it is about.
constexpr std::size_t kLeastReq = 32, kLeastRep = 16, kLeastIds = 8, kLeastRej = 12,
                      kLeastDreq = 11, kLeastMra = 10, kLeastSidr = 16, kLeastSidrRep = 5;

bool read_req(Bytes body, CmNote& note) noexcept {
  wire::CmReq req;
  if (!load_message(body, kLeastReq, req)) return false;
  note.local_id = req.local_comm_id.get();
  note.qpn = req.local_qpn.get();
  note.psn = req.first_psn().value();
  note.service_id = req.service_id.get();
  note.p_key = req.p_key.get();
  note.timeout = req.ack_timeout();
  note.transport = req.transport_service();
  note.mtu_code = req.path_mtu_code();
  note.retries = req.retry_count();
  note.rnr_retries = req.rnr_retry_count();
  note.responder_resources = req.responder_resources.get();
  note.initiator_depth = req.initiator_depth.get();
  if (req.to_ip_service())
    if (const auto* ip = wire::view<wire::CmIpService>(Bytes{req.private_data}))
      note.source_port = ip->source_port.get();
  return true;
}

bool read_rep(Bytes body, CmNote& note) noexcept {
  wire::CmRep rep;
  if (!load_message(body, kLeastRep, rep)) return false;
  note.local_id = rep.local_comm_id.get();
  note.remote_id = rep.remote_comm_id.get();
  note.qpn = rep.local_qpn.get();
  note.psn = rep.first_psn().value();
  note.responder_resources = rep.responder_resources.get();
  note.initiator_depth = rep.initiator_depth.get();
  return true;
}

bool read_ids(Bytes body, CmNote& note) noexcept {
  wire::CmPair ids;
  if (!load_message(body, kLeastIds, ids)) return false;
  note.local_id = ids.local_comm_id.get();
  note.remote_id = ids.remote_comm_id.get();
  return true;
}

bool read_rej(Bytes body, CmNote& note) noexcept {
  wire::CmRej rej;
  if (!load_message(body, kLeastRej, rej)) return false;
  note.reason = rej.reason.get();
  note.rejected = static_cast<std::uint8_t>(rej.message_rejected.get() >> 6);
  return read_ids(body, note);
}

bool read_mra(Bytes body, CmNote& note) noexcept {
  wire::CmMra mra;
  if (!load_message(body, kLeastMra, mra)) return false;
  note.timeout = mra.timeout();
  return read_ids(body, note);
}

bool read_dreq(Bytes body, CmNote& note) noexcept {
  wire::CmDreq dreq;
  if (!load_message(body, kLeastDreq, dreq)) return false;
  note.qpn = dreq.remote_qpn.get();
  return read_ids(body, note);
}

bool read_sidr_req(Bytes body, CmNote& note) noexcept {
  wire::CmSidrReq req;
  if (!load_message(body, kLeastSidr, req)) return false;
  note.local_id = req.request_id.get();
  note.p_key = req.p_key.get();
  note.service_id = req.service_id.get();
  return true;
}

bool read_sidr_rep(Bytes body, CmNote& note) noexcept {
  wire::CmSidrRep rep;
  if (!load_message(body, kLeastSidrRep, rep)) return false;
  note.remote_id = rep.request_id.get();
  note.reason = rep.status.get();
  note.qpn = rep.qpn.get();
  return true;
}

bool read_body(Bytes body, CmNote& note) noexcept {
  switch (note.message) {
    case CmMessage::req:
      return read_req(body, note);
    case CmMessage::rep:
      return read_rep(body, note);
    case CmMessage::rej:
      return read_rej(body, note);
    case CmMessage::mra:
      return read_mra(body, note);
    case CmMessage::dreq:
      return read_dreq(body, note);
    case CmMessage::rtu:
    case CmMessage::drep:
      return read_ids(body, note);
    case CmMessage::sidr_req:
      return read_sidr_req(body, note);
    case CmMessage::sidr_rep:
      return read_sidr_rep(body, note);
    case CmMessage::lap:
    case CmMessage::apr:
      return false;  // of alternate paths, which RoCE does not use
  }
  return false;
}

// ICMP, ARP and neighbours.

/// The RoCEv2 packet that an ICMP message quotes, as much of it as is quoted.
std::optional<IcmpNote> quoted_packet(Bytes quote) noexcept {
  const roce::Envelope packet =
      roce::open_envelope(quote, std::size_t{1} << 16, roce::LinkType::raw_ip);
  const auto* udp = packet.udp;
  if (udp == nullptr || udp->destination_port.get() != wire::kRoceV2Port) return std::nullopt;
  IcmpNote note;
  note.source = packet.ipv4 ? roce::mapped(packet.ipv4->source) : packet.ipv6->source.bytes;
  note.destination =
      packet.ipv4 ? roce::mapped(packet.ipv4->destination) : packet.ipv6->destination.bytes;
  const auto* bth = wire::view_at<wire::Bth>(quote, packet.bth_offset());
  if (bth != nullptr) {
    note.qp = bth->dest_qp.get();
    note.psn = bth->psn().value();
  }
  return note;
}

std::optional<Note> icmp_note(const roce::Envelope& envelope, Bytes message) noexcept {
  const bool v6 = envelope.ipv6 != nullptr;
  const auto* error = wire::view<wire::IcmpError>(message);
  if (error == nullptr || !wire::is_icmp_error(error->type.get(), v6)) return std::nullopt;
  auto note = quoted_packet(message.subspan(sizeof *error));
  if (!note) return std::nullopt;
  note->v6 = v6;
  note->sender = v6 ? envelope.ipv6->source.bytes : roce::mapped(envelope.ipv4->source);
  note->type = error->type.get();
  note->code = error->code.get();
  if (v6 && note->type == wire::kIcmpv6TooBig) note->mtu = error->mtu.get();
  if (!v6 && note->type == wire::kIcmpUnreachable && note->code == wire::kIcmpTooBigCode)
    note->mtu = error->mtu.get() & 0xffff;
  return *note;
}

std::optional<Note> neighbour_note(const roce::Envelope& envelope, Bytes message) noexcept {
  const auto* neighbour = wire::view<wire::Neighbour>(message);
  if (neighbour == nullptr) return std::nullopt;
  const bool asks = neighbour->type.get() == wire::kNeighbourSolicitation;
  constexpr HostAddress kNobody{};  // an address that is being claimed is asked for by nobody
  if (asks && envelope.ipv6->source.bytes == kNobody) return std::nullopt;
  return NeighbourNote{.asks = asks,
                       .v6 = true,
                       .sender = envelope.ipv6->source.bytes,
                       .target = neighbour->target.bytes};
}

std::optional<Note> arp_note(Bytes message) noexcept {
  const auto* arp = wire::view<wire::Arp>(message);
  if (arp == nullptr || !arp->is_ipv4_over_ethernet()) return std::nullopt;
  const bool asks = arp->operation.get() == wire::kArpRequest && arp->sender != arp->target;
  if (asks && arp->sender == wire::Ipv4Address{}) return std::nullopt;
  return NeighbourNote{.asks = asks,
                       .sender = roce::mapped(arp->sender),
                       .target = roce::mapped(asks ? arp->target : arp->sender)};
}

}  // namespace

std::optional<CmNote> cm_note(const roce::Frame& frame) noexcept {
  if (frame.mad == nullptr || frame.mad->management_class.get() != wire::kMadClassCommunication)
    return std::nullopt;
  const roce::FlowKey flow = roce::flow_key(frame);
  CmNote note{.message = static_cast<CmMessage>(frame.mad->attribute_id.get()),
              .source = flow.source,
              .destination = flow.destination};
  if (!read_body(frame.payload.subspan(sizeof(wire::Mad)), note)) return std::nullopt;
  return note;
}

std::optional<Note> other_note(const roce::Envelope& envelope) noexcept {
  const Bytes bytes = envelope.bytes;
  if (envelope.ether_type == wire::kEtherTypeArp)
    return arp_note(bytes.subspan(std::min(envelope.network_offset, bytes.size())));
  const bool is_v4 = envelope.ipv4 != nullptr && envelope.protocol == wire::kProtocolIcmp;
  const bool is_v6 = envelope.ipv6 != nullptr && envelope.protocol == wire::kProtocolIcmpv6;
  if (!(is_v4 || is_v6) || envelope.fragment) return std::nullopt;
  const std::size_t end = std::min(bytes.size(), envelope.network_end);
  const std::size_t begin = std::min(envelope.transport_offset, end);
  const Bytes message = bytes.subspan(begin, end - begin);
  if (message.empty()) return std::nullopt;
  const auto type = std::to_integer<std::uint8_t>(message[0]);
  if (is_v6 && (type == wire::kNeighbourSolicitation || type == wire::kNeighbourAdvertisement))
    return neighbour_note(envelope, message);
  return icmp_note(envelope, message);
}

}  // namespace lw::analysis
