// SPDX-License-Identifier: BSD-3-Clause
#include "gen/arp/arp_responder.h"

#include <algorithm>

#include "gen/arp/neighbour_frames.h"
#include "roce/envelope.h"
#include "wire/arp.h"
#include "wire/icmp.h"

namespace lw::gen {
namespace {

using roce::Envelope;
using wire::view_at;

bool is_group(const wire::MacAddress& mac) noexcept {
  return (mac.bytes[0] & std::byte{1}) != std::byte{0};
}

/// A question may come to a group (or all); a frame that we sent ourselves is none.
bool is_for(const Envelope& e, const OwnAddress& own) noexcept {
  return e.ethernet->source != own.mac &&
         (e.ethernet->destination == own.mac || is_group(e.ethernet->destination));
}

/// The frame again, back to where it came from; behind the packet's end nothing is left.
void turn_around(const Envelope& e, std::size_t end, std::vector<std::byte>& out) {
  out.assign(e.bytes.begin(), e.bytes.begin() + static_cast<std::ptrdiff_t>(end));
  auto* ethernet = wire::view<wire::Ethernet>(wire::MutableBytes{out});
  std::swap(ethernet->source, ethernet->destination);
}

void answer_arp(const Envelope& e, const OwnAddress& own, std::vector<std::byte>& out) {
  turn_around(e, e.network_offset + sizeof(wire::Arp), out);
  wire::MutableBytes bytes{out};
  auto* arp = view_at<wire::Arp>(bytes, e.network_offset);
  arp->operation.set(wire::kArpReply);
  arp->target_mac = arp->sender_mac;
  std::swap(arp->target,
            arp->sender);  // a probe's sender is 0.0.0.0, and so is the answer's target
  arp->sender_mac = own.mac;
  auto* ethernet = wire::view<wire::Ethernet>(bytes);
  ethernet->source = own.mac;
  ethernet->destination = arp->target_mac;
}

bool is_echo_request(const Envelope& e, std::uint8_t protocol, std::uint8_t type) noexcept {
  const auto* echo = view_at<wire::IcmpEcho>(e.bytes, e.transport_offset);
  return echo && e.protocol == protocol && !e.fragment && e.network_end <= e.bytes.size() &&
         e.transport_offset + sizeof(wire::IcmpEcho) <= e.network_end && echo->type.get() == type &&
         echo->code.get() == 0;
}

void answer_ping4(const Envelope& e, std::vector<std::byte>& out) {
  turn_around(e, e.network_end, out);
  wire::MutableBytes bytes{out};
  auto* ip = view_at<wire::Ipv4>(bytes, e.network_offset);
  std::swap(ip->source, ip->destination);
  ip->ttl.set(64);
  ip->checksum.set(wire::ipv4_checksum(bytes.subspan(e.network_offset, ip->header_length())));
  auto* echo = view_at<wire::IcmpEcho>(bytes, e.transport_offset);
  echo->type.set(wire::kIcmpEchoReply);
  echo->checksum.set(0);
  echo->checksum.set(wire::icmp_checksum(bytes.subspan(e.transport_offset)));
}

void answer_ping6(const Envelope& e, std::vector<std::byte>& out) {
  turn_around(e, e.network_end, out);
  wire::MutableBytes bytes{out};
  auto* ip = view_at<wire::Ipv6>(bytes, e.network_offset);
  std::swap(ip->source, ip->destination);
  ip->hop_limit.set(64);
  auto* echo = view_at<wire::IcmpEcho>(bytes, e.transport_offset);
  echo->type.set(wire::kIcmpv6EchoReply);
  echo->checksum.set(0);
  echo->checksum.set(
      wire::icmpv6_checksum(ip->source, ip->destination, bytes.subspan(e.transport_offset)));
}

}  // namespace

ArpResponder::ArpResponder(std::vector<OwnAddress> own) : own_(std::move(own)) {
  std::ranges::stable_sort(own_, {}, &OwnAddress::ip);
  const auto again = std::ranges::unique(own_, {}, &OwnAddress::ip);
  own_.erase(again.begin(), again.end());
}

const OwnAddress* ArpResponder::find(const wire::IpAddress& ip) const noexcept {
  const auto found = std::ranges::lower_bound(own_, ip, {}, &OwnAddress::ip);
  return found != own_.end() && found->ip == ip ? &*found : nullptr;
}

bool ArpResponder::answer(wire::Bytes frame, std::vector<std::byte>& out) const {
  const Envelope e = roce::open_envelope(frame);
  if (!e.ethernet) return false;
  if (e.ether_type == wire::kEtherTypeArp) {
    const auto* arp = view_at<wire::Arp>(frame, e.network_offset);
    if (!arp || !arp->is_ipv4_over_ethernet() || arp->operation.get() != wire::kArpRequest) {
      return false;
    }
    const OwnAddress* own = find(arp->target);
    if (!own || !is_for(e, *own)) return false;
    answer_arp(e, *own, out);
    return true;
  }
  if (const auto solicitation = open_solicitation(e)) {
    const OwnAddress* own = find(solicitation->target);
    if (!own || !is_for(e, *own)) return false;
    advertise(e, *solicitation, own->mac, out);
    return true;
  }
  const bool v4 = e.ipv4 && is_echo_request(e, wire::kProtocolIcmp, wire::kIcmpEchoRequest);
  const bool v6 = e.ipv6 && is_echo_request(e, wire::kProtocolIcmpv6, wire::kIcmpv6EchoRequest);
  if (!v4 && !v6) return false;
  const OwnAddress* own = v4 ? find(e.ipv4->destination) : find(e.ipv6->destination);
  if (!own || e.ethernet->destination != own->mac) return false;
  v4 ? answer_ping4(e, out) : answer_ping6(e, out);
  return true;
}

std::optional<NeighborEntry> neighbor_entry_in(wire::Bytes frame) {
  const Envelope e = roce::open_envelope(frame);
  if (!e.ethernet) return std::nullopt;
  if (e.ether_type != wire::kEtherTypeArp) return advertised(e);
  const auto* arp = view_at<wire::Arp>(frame, e.network_offset);
  if (!arp || !arp->is_ipv4_over_ethernet() || is_group(arp->sender_mac)) return std::nullopt;
  return NeighborEntry{arp->sender, arp->sender_mac};
}

}  // namespace lw::gen
