// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/host.h"

#include <algorithm>
#include <bit>
#include <random>

#include <fmt/format.h>

#include "gen/limits.h"
#include "transport/packet.h"

namespace lw::gen::otg {
namespace {

using State = QpLink::State;
using wire::CmMessage;

constexpr Duration kBetween = std::chrono::milliseconds(250);
constexpr int kMostCloseRequests = 8;
/// Number of the service that connection requests are for: that of roce-gen respond, next to it.
constexpr std::uint16_t kService = 18516;
constexpr std::uint8_t kMostRetries = 7;  // that a connection request can state

/// Whether the first `prefix` bits of both addresses are the same.
bool same_network(const wire::IpAddress& one, const wire::IpAddress& other,
                  std::uint64_t prefix) noexcept {
  if (one.index() != other.index()) return false;
  const auto compare = [&](const auto& a, const auto& b) {
    std::size_t left = prefix;
    for (std::size_t i = 0; i < a.bytes.size() && left > 0; ++i) {
      const std::size_t bits = std::min<std::size_t>(left, 8);
      const auto mask = static_cast<std::byte>(0xff00u >> bits);
      if (((a.bytes[i] ^ b.bytes[i]) & mask) != std::byte{}) return false;
      left -= bits;
    }
    return true;
  };
  if (const auto* v4 = std::get_if<wire::Ipv4Address>(&one))
    return compare(*v4, std::get<wire::Ipv4Address>(other));
  return compare(std::get<wire::Ipv6Address>(one), std::get<wire::Ipv6Address>(other));
}

}  // namespace

LabHost::LabHost(const LabPlan& plan, std::size_t index, PortHub& hub,
                 const std::vector<QpRun*>& runs)
    : plan_(plan),
      host_(plan.hosts[index]),
      hub_(hub),
      channel_(hub, host_),
      endpoint_(channel_, IdleMode::adaptive) {
  hub.add(channel_);
  std::uint32_t comm_id = std::random_device{}();
  for (QpRun* run : runs) {
    QpLink& link = links_.emplace_back();
    link.run = run;
    link.comm_id = comm_id++;
  }
  for (std::size_t i = 0; i < plan.peers.size(); ++i)
    if (plan.peers[i].host == index) counts_[i] = {};
  endpoint_.on_management = [this](const roce::Frame& frame) { on_management(frame); };
}

/// Both ends know both addresses, so they agree on who asks.
bool LabHost::asks(const QpLink& link) const noexcept {
  return host_.own.ip < destination_of(link);
}

void LabHost::want(std::size_t peer, bool up) {
  for (QpLink& link : links_) {
    if (link.run->planned().peer != peer) continue;
    link.wanted = up;
    link.next = {};
    link.refused.clear();
    if (up && link.run->broken()) close(link);
  }
}

bool LabHost::settled() const noexcept {
  return std::ranges::all_of(
      links_, [](const QpLink& link) { return link.wanted || link.state == State::down; });
}

Result<bool> LabHost::work(Instant now) {
  for (QpLink& link : links_) advance(link, now);
  return endpoint_.work(now);
}

/// Sends what is due on a connection.
void LabHost::advance(QpLink& link, Instant now) {
  // The first request of the other end confirms the connection, if its ReadyToUse was lost.
  if (link.state == State::answered &&
      link.run->meter().received(CountedKind::transfer).frames +
              link.run->meter().received(CountedKind::fetch).frames >
          0)
    link.state = State::up;
  if (link.state == (link.wanted ? State::up : State::down) || now < link.next) return;
  if (link.state == State::down && !asks(link)) return;
  if (!link.refused.empty()) return;
  const auto peer = peer_of_link(link, now);
  if (!peer) return;
  link.next = now + kBetween;
  if (!link.wanted) return ask_to_close(link, *peer);
  if (link.state == State::answered) {
    ++counts_of(link).connect_reply_tx;
    return send(link.reply, *peer);
  }
  ask(link, *peer);
}

wire::IpAddress LabHost::next_hop(const wire::IpAddress& destination) const noexcept {
  return same_network(host_.own.ip, destination, host_.prefix) ? destination : host_.gateway;
}

std::optional<wire::MacAddress> LabHost::next_mac(const wire::IpAddress& destination, Instant now) {
  const wire::IpAddress hop = next_hop(destination);
  auto mac = hop == host_.gateway && host_.gateway_mac ? host_.gateway_mac : hub_.neighbour(hop);
  if (!mac) hub_.ask(channel_, hop, now);
  return mac;
}

/// The other end, with the class of the QP; nothing while its MAC address is not known.
std::optional<Peer> LabHost::peer_of_link(const QpLink& link, Instant now) {
  const wire::IpAddress destination = destination_of(link);
  const auto mac = next_mac(destination, now);
  if (!mac) return std::nullopt;
  return Peer{{*mac, destination}, link.run->traffic()};
}

void LabHost::ask(QpLink& link, const Peer& peer) {
  const PlannedQp& qp = link.run->planned();
  const PerPortRoce& settings = plan_.ports[host_.port].settings;
  const QpParameters& there = qp.partner ? plan_.qps[*qp.partner].parameters : qp.parameters;
  const bool path_mtu = transport::is_path_mtu(qp.ib_mtu);
  const ConnectRequest request{
      .comm_id = link.comm_id,
      .qp = {.qpn = qp.number,
             .first_psn = wire::Psn{static_cast<std::uint32_t>(there.initial_psn)}},
      .port = kService,
      .mtu = path_mtu ? qp.ib_mtu : kMostMtu,
      .retry_count = static_cast<std::uint8_t>(std::min<std::uint64_t>(
          settings.connection_type.reliable_connection.retransmission_retry_count, kMostRetries)),
      .source = host_.own.ip,
      .destination = peer.address.ip,
      .path = qp_class_of(peer.traffic),
      .data = to_private_data(link.run->offer())};
  link.state = State::asking;
  ++counts_of(link).connect_request_tx;
  send(to_mad(link.comm_id, request), peer);
}

void LabHost::ask_to_close(QpLink& link, const Peer& peer) {
  if (link.state == State::asking || link.repeats >= kMostCloseRequests) return close(link);
  link.state = State::closing;
  ++link.repeats;
  ++counts_of(link).disconnect_request_tx;
  send(disconnect_mad(link.comm_id, link.ids, link.run->peer_number()), peer);
}

void LabHost::close(QpLink& link) {
  link.run->close(endpoint_);
  link.state = State::down;
  link.repeats = 0;
  link.comm_id += static_cast<std::uint32_t>(links_.size());  // of the next connection
}

QpLink* LabHost::find(std::uint32_t comm_id, const wire::IpAddress& from) noexcept {
  const auto found = std::ranges::find_if(links_, [&](const QpLink& link) {
    return link.comm_id == comm_id && destination_of(link) == from;
  });
  return found == links_.end() ? nullptr : &*found;
}

/// A message that belongs to no QP of a peer.
void LabHost::note_unknown(const Peer& from) {
  for (auto& [peer, counts] : counts_)
    if (plan_.peers[peer].destination == from.address.ip) ++counts.unknown_msg_rx;
}

void LabHost::on_management(const roce::Frame& frame) {
  const auto heading = read_heading(frame.payload);
  const Peer from = peer_of(frame.envelope);
  if (heading && heading->message == CmMessage::req)
    return on_request(frame.payload, *heading, from);
  QpLink* link = heading ? find(heading->ids.remote, from.address.ip) : nullptr;
  if (link == nullptr) {
    if (!heading) note_unknown(from);
    // An end that has closed answers the other one, whose DisconnectReply may have been lost.
    if (heading && heading->message == CmMessage::dreq)
      send(to_mad(CmMessage::drep, heading->transaction,
                  {.local = heading->ids.remote, .remote = heading->ids.local}),
           from);
    return;
  }
  on_message(*link, frame.payload, *heading, from);
}

void LabHost::on_message(QpLink& link, wire::Bytes mad, const CmHeading& heading,
                         const Peer& from) {
  switch (heading.message) {
    case CmMessage::rep:
      return on_reply(link, mad, heading, from);
    case CmMessage::rtu:
      ++counts_of(link).ready_rx;
      if (link.state == State::answered) link.state = State::up;
      return;
    case CmMessage::rej:
      ++counts_of(link).reject_rx;
      link.refused = read_refusal(mad);
      fmt::print(stderr, "QP \"{}\": {} refuses the connection: {}\n", link.run->planned().name,
                 to_string(from.address.ip), link.refused);
      return close(link);
    case CmMessage::dreq:
      return on_close(link, heading, from);
    case CmMessage::drep:
      ++counts_of(link).disconnect_reply_rx;
      if (link.state == State::closing) close(link);
      return;
    default:
      ++counts_of(link).unknown_msg_rx;
  }
}

void LabHost::on_request(wire::Bytes mad, const CmHeading& heading, const Peer& from) {
  const auto request = read_request(mad);
  const auto offer = request ? read_offer(request->data) : std::nullopt;
  const auto link = std::ranges::find_if(links_, [&](const QpLink& each) {
    return offer && each.run->planned().order == offer->order &&
           destination_of(each) == from.address.ip;
  });
  if (link == links_.end()) return note_unknown(from);
  ++counts_of(*link).connect_request_rx;
  if (!link->wanted) return;  // the other end asks again
  const bool repeated = link->ids.remote == request->comm_id &&
                        (link->state == State::answered || link->state == State::up);
  if (repeated) {
    ++counts_of(*link).connect_reply_tx;
    return send(link->reply, from);
  }
  if (const std::string why = refusal_of(*link, *request, *offer); !why.empty())
    return reject(*link, heading, why, from);
  if (link->state != State::down) close(*link);  // the other end has begun anew
  answer(*link, *request, *offer, heading.transaction, from);
}

/// Returns why a request is refused; empty if it is not.
std::string LabHost::refusal_of(const QpLink& link, const ConnectRequest& request,
                                const QpOffer& offer) const {
  const PlannedQp& qp = link.run->planned();
  if (asks(link)) return "this end asks for the connection";
  if (offer.ib_mtu != qp.ib_mtu)
    return fmt::format("ib_mtu is {} there and {} here", offer.ib_mtu, qp.ib_mtu);
  if (request.qp.first_psn.value() != qp.parameters.initial_psn)
    return fmt::format("initial_psn is {} here, {} is expected: give both QPs the same",
                       qp.parameters.initial_psn, request.qp.first_psn.value());
  return "";
}

void LabHost::reject(QpLink& link, const CmHeading& heading, const std::string& why,
                     const Peer& to) {
  ++counts_of(link).reject_tx;
  send(refusal_mad(heading.transaction, {.local = link.comm_id, .remote = heading.ids.local}, why),
       to);
}

void LabHost::answer(QpLink& link, const ConnectRequest& request, const QpOffer& offer,
                     std::uint64_t transaction, const Peer& from) {
  const PlannedQp& qp = link.run->planned();
  link.ids = {.local = link.comm_id, .remote = request.comm_id};
  link.reply = to_mad(
      transaction, ConnectReply{.ids = link.ids,
                                .qp = {.qpn = qp.number, .first_psn = wire::Psn{offer.first_psn}},
                                .data = to_private_data(link.run->offer())});
  const Peer peer{from.address, link.run->traffic()};
  link.run->open(endpoint_, peer, request.qp.qpn, offer);
  link.state = State::answered;
  link.next = endpoint_.now() + kBetween;
  ++counts_of(link).connect_reply_tx;
  send(link.reply, peer);
}

void LabHost::on_reply(QpLink& link, wire::Bytes mad, const CmHeading& heading, const Peer& from) {
  ++counts_of(link).connect_reply_rx;
  const auto reply = read_reply(mad);
  const auto offer = reply ? read_offer(reply->data) : std::nullopt;
  if (!offer) return;
  if (link.state == State::asking) {
    link.ids = {.local = link.comm_id, .remote = heading.ids.local};
    link.run->open(endpoint_, {from.address, link.run->traffic()}, reply->qp.qpn, *offer);
    link.state = State::up;
  }
  if (link.state != State::up) return;
  ++counts_of(link).ready_tx;
  send(to_mad(CmMessage::rtu, heading.transaction, link.ids), {from.address, link.run->traffic()});
}

void LabHost::on_close(QpLink& link, const CmHeading& heading, const Peer& from) {
  ++counts_of(link).disconnect_request_rx;
  ++counts_of(link).disconnect_reply_tx;
  send(to_mad(CmMessage::drep, heading.transaction,
              {.local = heading.ids.remote, .remote = heading.ids.local}),
       {from.address, link.run->traffic()});
  if (link.state == State::closing) return;  // its own request is answered, too
  close(link);
  link.next = endpoint_.now() + kBetween;
}

}  // namespace lw::gen::otg
