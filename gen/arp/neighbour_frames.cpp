// SPDX-License-Identifier: BSD-3-Clause
#include "gen/arp/neighbour_frames.h"

#include <algorithm>
#include <array>

#include "wire/arp.h"
#include "wire/icmp.h"
#include "wire/neighbour.h"

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
  bool sound = false;
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
  result.sound = true;
  return result;
}

/// What solicitations and advertisements have in common to be valid.
struct Message {
  const Neighbour* neighbour;
  Options options;
};

std::optional<Message> open_message(const Envelope& e, std::uint8_t type) {
  if (!e.ethernet || !e.ipv6 || e.protocol != wire::kProtocolIcmpv6 || e.fragment) return {};
  if (e.network_end > e.bytes.size() || e.transport_offset + sizeof(Neighbour) > e.network_end) {
    return {};
  }
  const auto* neighbour = view_at<Neighbour>(e.bytes, e.transport_offset);
  const wire::Bytes message =
      e.bytes.subspan(e.transport_offset, e.network_end - e.transport_offset);
  const Options options = read_options(message.subspan(sizeof(Neighbour)));
  const bool valid = neighbour->type.get() == type && neighbour->code.get() == 0 && options.sound &&
                     e.ipv6->hop_limit.get() == wire::kNeighbourHopLimit &&
                     !is_group(neighbour->target) &&
                     wire::icmpv6_checksum(e.ipv6->source, e.ipv6->destination, message) == 0;
  return valid ? std::optional(Message{neighbour, options}) : std::nullopt;
}

/// An IPv6 packet with one neighbour message and one option, behind `network` bytes that are
/// already there.
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

/// Ethernet and its tags; returns where the network layer begins.
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

}  // namespace

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

void advertise(const Envelope& e, const Solicitation& solicitation, const MacAddress& mac,
               std::vector<std::byte>& out) {
  static const Ipv6Address all_nodes = std::get<Ipv6Address>(*wire::parse_ip("ff02::1"));
  const bool known = solicitation.asker.has_value();
  const Ipv6Address destination = known ? e.ipv6->source : all_nodes;
  out.assign(e.bytes.begin(), e.bytes.begin() + static_cast<std::ptrdiff_t>(e.network_offset));
  auto* ethernet = wire::view<wire::Ethernet>(MutableBytes{out});
  ethernet->source = mac;
  ethernet->destination = known ? *solicitation.asker : wire::mac_of_group(all_nodes);
  write_message(e.network_offset, {.source = solicitation.target, .destination = destination},
                {.type = wire::kNeighbourAdvertisement,
                 .flags = Neighbour::kOverride | (known ? Neighbour::kSolicited : 0),
                 .target = solicitation.target},
                {.type = wire::kTargetLinkAddress, .mac = mac}, out);
}

std::optional<NeighborEntry> advertised(const Envelope& e) {
  const auto message = open_message(e, wire::kNeighbourAdvertisement);
  if (!message || !message->options.target) return std::nullopt;
  return NeighborEntry{message->neighbour->target, *message->options.target};
}

std::vector<std::byte> neighbor_request(const OwnAddress& asker,
                                        std::span<const wire::VlanFields> vlans,
                                        const wire::IpAddress& target) {
  std::vector<std::byte> out;
  if (const auto* v4 = std::get_if<wire::Ipv4Address>(&target)) {
    MacAddress everybody;
    everybody.bytes.fill(std::byte{0xff});
    const std::size_t network = write_link({everybody, asker.mac, wire::kEtherTypeArp}, vlans, out);
    out.resize(network + sizeof(wire::Arp));
    view_at<wire::Arp>(MutableBytes{out}, network)
        ->set({.sender_mac = asker.mac,
               .sender = std::get<wire::Ipv4Address>(asker.ip),
               .target_mac = {},
               .target = *v4});
    return out;
  }
  const auto& v6 = std::get<Ipv6Address>(target);
  const Ipv6Address group = wire::solicited_node(v6);
  const std::size_t network =
      write_link({wire::mac_of_group(group), asker.mac, wire::kEtherTypeIpv6}, vlans, out);
  write_message(network, {.source = std::get<Ipv6Address>(asker.ip), .destination = group},
                {.type = wire::kNeighbourSolicitation, .target = v6},
                {.type = wire::kSourceLinkAddress, .mac = asker.mac}, out);
  return out;
}

}  // namespace lw::gen
