// SPDX-License-Identifier: BSD-3-Clause
#include "gen/arp/arp_responder.h"

#include <algorithm>
#include <array>

#include "roce/envelope.h"
#include "wire/arp.h"
#include "wire/icmp.h"

namespace lw::gen {
namespace {

using roce::Envelope;
using wire::Ipv6Address;
using wire::LinkAddress;
using wire::MacAddress;
using wire::MutableBytes;
using wire::Neighbour;
using wire::view_at;

constexpr std::size_t kMessageSize = sizeof(Neighbour) + sizeof(LinkAddress);

bool is_group(const Ipv6Address& ip) noexcept { return ip.bytes[0] == std::byte{0xff}; }

struct Options {
  bool valid = false;
  std::optional<MacAddress> source, target;
};

Options read_options(wire::Bytes options) noexcept {
  Options result;
  while (!options.empty()) {
    const auto* option = wire::view<LinkAddress>(options);
    if (!option || option->length.get() == 0) return {};
    const std::size_t size = std::size_t{8} * option->length.get();
    if (size > options.size()) return {};
    if (option->type.get() == wire::kSourceLinkAddress) result.source = option->mac;
    if (option->type.get() == wire::kTargetLinkAddress) result.target = option->mac;
    options = options.subspan(size);
  }
  result.valid = true;
  return result;
}

/// A neighbor solicitation or advertisement that passes the common validity checks.
struct NeighbourMessage {
  const Neighbour* neighbour;
  Options options;
};

std::optional<NeighbourMessage> open_message(const Envelope& e, std::uint8_t type) {
  if (!e.ethernet || !e.ipv6 || e.protocol != wire::kProtocolIcmpv6 || e.fragment) return {};
  if (e.network_end > e.bytes.size() || e.transport_offset + sizeof(Neighbour) > e.network_end) {
    return {};
  }
  const auto* neighbour = view_at<Neighbour>(e.bytes, e.transport_offset);
  const wire::Bytes message =
      e.bytes.subspan(e.transport_offset, e.network_end - e.transport_offset);
  const Options options = read_options(message.subspan(sizeof(Neighbour)));
  const bool valid = neighbour->type.get() == type && neighbour->code.get() == 0 && options.valid &&
                     e.ipv6->hop_limit.get() == wire::kNeighbourHopLimit &&
                     !is_group(neighbour->target) &&
                     wire::icmpv6_checksum(e.ipv6->source, e.ipv6->destination, message) == 0;
  return valid ? std::optional(NeighbourMessage{neighbour, options}) : std::nullopt;
}

/// Appends an IPv6 packet with a neighbor message and an option to `network` bytes of `out`.
void write_message(std::size_t network, wire::Ipv6Fields ip, wire::NeighbourFields message,
                   const wire::LinkAddressFields& option, std::vector<std::byte>& out) {
  out.resize(network + sizeof(wire::Ipv6) + kMessageSize);
  const MutableBytes bytes{out};
  ip.payload_length = kMessageSize;
  ip.next_header = wire::kProtocolIcmpv6;
  ip.hop_limit = wire::kNeighbourHopLimit;
  view_at<wire::Ipv6>(bytes, network)->set(ip);
  const std::size_t start = network + sizeof(wire::Ipv6);
  auto* neighbour = view_at<Neighbour>(bytes, start);
  neighbour->set(message);
  view_at<LinkAddress>(bytes, start + sizeof(Neighbour))->set(option);
  neighbour->checksum.set(wire::icmpv6_checksum(ip.source, ip.destination, bytes.subspan(start)));
}

/// Writes Ethernet header and VLAN tags. Returns the offset of the network layer.
std::size_t write_link(const wire::EthernetFields& ethernet,
                       std::span<const wire::VlanFields> vlans, std::vector<std::byte>& out) {
  const std::size_t network = sizeof(wire::Ethernet) + vlans.size() * sizeof(wire::Vlan);
  out.resize(network);
  const MutableBytes bytes{out};
  wire::EthernetFields outer = ethernet;
  if (!vlans.empty()) outer.type = vlans.size() > 1 ? wire::kEtherTypeQinq : wire::kEtherTypeVlan;
  wire::view<wire::Ethernet>(bytes)->set(outer);
  for (std::size_t i = 0; i < vlans.size(); ++i) {
    wire::VlanFields tag = vlans[i];
    tag.type = i + 1 < vlans.size() ? wire::kEtherTypeVlan : ethernet.type;
    view_at<wire::Vlan>(bytes, sizeof(wire::Ethernet) + i * sizeof(wire::Vlan))->set(tag);
  }
  return network;
}

/// A request for the MAC address of an IPv6 address.
struct Solicitation {
  Ipv6Address target;
  /// Destination of the answer; nothing if the sender has no address yet and checks whether
  /// `target` is free: then the answer goes to all nodes. (RFC 4862, 5.4)
  std::optional<MacAddress> sender;
};

/// Returns a neighbor solicitation that is valid by RFC 4861, 7.1.1.
std::optional<Solicitation> open_solicitation(const Envelope& e) {
  const auto message = open_message(e, wire::kNeighbourSolicitation);
  if (!message) return std::nullopt;
  const Ipv6Address& target = message->neighbour->target;
  if (e.ipv6->source != Ipv6Address{}) {
    return Solicitation{target, message->options.source.value_or(e.ethernet->source)};
  }
  const bool probe =
      e.ipv6->destination == wire::solicited_node(target) && !message->options.source;
  return probe ? std::optional(Solicitation{target, std::nullopt}) : std::nullopt;
}

/// Writes the advertisement that answers a solicitation: `mac` has the target. Keeps the VLAN tags.
/// (RFC 4861, 7.2.4)
void advertise(const Envelope& e, const Solicitation& solicitation, const MacAddress& mac,
               std::vector<std::byte>& out) {
  static const Ipv6Address all_nodes = std::get<Ipv6Address>(*wire::parse_ip("ff02::1"));
  const bool known = solicitation.sender.has_value();
  const Ipv6Address destination = known ? e.ipv6->source : all_nodes;
  out.assign(e.bytes.begin(), e.bytes.begin() + static_cast<std::ptrdiff_t>(e.network_offset));
  auto* ethernet = wire::view<wire::Ethernet>(MutableBytes{out});
  ethernet->source = mac;
  ethernet->destination = known ? *solicitation.sender : wire::mac_of_group(all_nodes);
  write_message(e.network_offset, {.source = solicitation.target, .destination = destination},
                {.type = wire::kNeighbourAdvertisement,
                 .flags = Neighbour::kOverride | (known ? Neighbour::kSolicited : 0),
                 .target = solicitation.target},
                {.type = wire::kTargetLinkAddress, .mac = mac}, out);
}

/// Returns the entry of a valid neighbor advertisement (RFC 4861, 7.1.2).
std::optional<NeighborEntry> advertised(const Envelope& e) {
  const auto message = open_message(e, wire::kNeighbourAdvertisement);
  if (!message || !message->options.target) return std::nullopt;
  return NeighborEntry{message->neighbour->target, *message->options.target};
}

bool is_group(const wire::MacAddress& mac) noexcept {
  return (mac.bytes[0] & std::byte{1}) != std::byte{0};
}

/// True if a request is addressed to us or a group, and not sent by us.
bool is_for(const Envelope& e, const OwnAddress& own) noexcept {
  return e.ethernet->source != own.mac &&
         (e.ethernet->destination == own.mac || is_group(e.ethernet->destination));
}

/// Copies the frame up to `end` with its MAC addresses swapped.
void swap_direction(const Envelope& e, std::size_t end, std::vector<std::byte>& out) {
  out.assign(e.bytes.begin(), e.bytes.begin() + static_cast<std::ptrdiff_t>(end));
  auto* ethernet = wire::view<wire::Ethernet>(MutableBytes{out});
  std::swap(ethernet->source, ethernet->destination);
}

void answer_arp(const Envelope& e, const OwnAddress& own, std::vector<std::byte>& out) {
  swap_direction(e, e.network_offset + sizeof(wire::Arp), out);
  MutableBytes bytes{out};
  auto* arp = view_at<wire::Arp>(bytes, e.network_offset);
  arp->operation.set(wire::kArpReply);
  arp->target_mac = arp->sender_mac;
  // The sender of a probe is 0.0.0.0, and so is the target of its answer.
  std::swap(arp->target, arp->sender);
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
  swap_direction(e, e.network_end, out);
  MutableBytes bytes{out};
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
  swap_direction(e, e.network_end, out);
  MutableBytes bytes{out};
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

std::vector<std::byte> neighbor_request(const OwnAddress& sender,
                                        std::span<const wire::VlanFields> vlans,
                                        const wire::IpAddress& target) {
  std::vector<std::byte> out;
  if (const auto* v4 = std::get_if<wire::Ipv4Address>(&target)) {
    MacAddress broadcast;
    broadcast.bytes.fill(std::byte{0xff});
    const std::size_t network =
        write_link({broadcast, sender.mac, wire::kEtherTypeArp}, vlans, out);
    out.resize(network + sizeof(wire::Arp));
    view_at<wire::Arp>(MutableBytes{out}, network)
        ->set({.sender_mac = sender.mac,
               .sender = std::get<wire::Ipv4Address>(sender.ip),
               .target_mac = {},
               .target = *v4});
    return out;
  }
  const auto& v6 = std::get<Ipv6Address>(target);
  const Ipv6Address group = wire::solicited_node(v6);
  const std::size_t network =
      write_link({wire::mac_of_group(group), sender.mac, wire::kEtherTypeIpv6}, vlans, out);
  write_message(network, {.source = std::get<Ipv6Address>(sender.ip), .destination = group},
                {.type = wire::kNeighbourSolicitation, .target = v6},
                {.type = wire::kSourceLinkAddress, .mac = sender.mac}, out);
  return out;
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
