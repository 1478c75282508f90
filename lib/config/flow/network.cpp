// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/network.h"

#include <fmt/format.h>

#include "config/toml/table.h"
#include "wire/udp.h"

namespace lw::config {
namespace {

using wire::Encapsulation;
using wire::IpAddress;
using wire::Ipv4Address;
using wire::Ipv6Address;

constexpr Choice<bool> kEncapsulations[] = {{"rocev2", false}, {"rocev1", true}};
constexpr Choice<std::uint8_t> kEcn[] = {{"not-ect", 0}, {"ect1", 1}, {"ect0", 2}, {"ce", 3}};

/// Reads an ECN codepoint by name, or as a number of two bits.
Parsed<std::uint8_t> read_ecn(const Value& value) {
  if (std::holds_alternative<std::string>(value.data)) return choice(kEcn)(value);
  return integer<std::uint8_t>(0, 3)(value);
}

struct Ends {
  IpAddress source, destination;
  [[nodiscard]] bool v6() const { return std::holds_alternative<Ipv6Address>(source); }
};

/// Reads both addresses. The default of one has the family of the other: IPv4 from the benchmark
/// range (RFC 2544), IPv6 from the documentation range (RFC 3849).
Ends read_ends(const Table& table) {
  const auto source = table.get("source", first_of(read_ip));
  const auto destination = table.get("destination", first_of(read_ip));
  const auto is_v6 = [](const auto& ip) { return ip && std::holds_alternative<Ipv6Address>(*ip); };
  const bool v6 = is_v6(source) || (!source && is_v6(destination));
  const Ends ends = {source.value_or(*wire::parse_ip(v6 ? "2001:db8::1" : "198.18.0.1")),
                     destination.value_or(*wire::parse_ip(v6 ? "2001:db8::2" : "198.18.0.2"))};
  if (ends.source.index() != ends.destination.index()) {
    table.refuse("destination", fmt::format("expected an {} address like the source, found {}",
                                            v6 ? "IPv6" : "IPv4", to_string(ends.destination)));
  }
  return ends;
}

void read_ip_layer(const Table& table, Flow& flow, bool rocev1) {
  roce::FrameFields& frame = flow.frame;
  const Ends ends = read_ends(table);
  const std::uint8_t dscp = table.get_or("dscp", integer<std::uint8_t>(0, 63), 0);
  const std::uint8_t ecn = table.get_or("ecn", read_ecn, 2);
  const std::uint8_t ttl = table.get_or("ttl", integer<std::uint8_t>(), 64);
  const std::uint32_t label = table.get_or("flow_label", integer<std::uint32_t>(0, 0xfffff), 0);
  const std::uint16_t ip_id = table.get_or("ip_id", integer<std::uint16_t>(), 0);
  const bool dont_fragment = table.get_or("dont_fragment", read_boolean, true);
  if (ends.source.index() != ends.destination.index()) return;
  if (rocev1 || ends.v6()) {
    frame.encapsulation = rocev1 ? Encapsulation::grh : Encapsulation::ipv6;
    frame.ipv6.traffic_class = static_cast<std::uint8_t>(dscp << 2 | ecn);
    frame.ipv6.flow_label = label;
    frame.ipv6.hop_limit = ttl;
    frame.ipv6.source = gid_of(ends.source);
    frame.ipv6.destination = gid_of(ends.destination);
    return;
  }
  frame.encapsulation = Encapsulation::ipv4;
  frame.ipv4.dscp = dscp;
  frame.ipv4.ecn = ecn;
  frame.ipv4.ttl = ttl;
  frame.ipv4.id = ip_id;
  frame.ipv4.dont_fragment = dont_fragment;
  frame.ipv4.source = std::get<Ipv4Address>(ends.source);
  frame.ipv4.destination = std::get<Ipv4Address>(ends.destination);
}

void read_vlans(const Table& table, Flow& flow) {
  constexpr std::size_t kMostTags = 2;
  const auto ids = table.get_or("vlan", list_of(integer<std::uint16_t>(0, 4095)), {});
  const auto priorities = table.get_or("vlan_priority", list_of(integer<std::uint8_t>(0, 7)), {});
  if (ids.size() > kMostTags) table.refuse("vlan", "expected at most two tags, found more");
  if (!priorities.empty() && priorities.size() != ids.size()) {
    table.refuse("vlan_priority", fmt::format("expected one value per VLAN tag ({}), found {}",
                                              ids.size(), priorities.size()));
    return;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    flow.frame.vlans.push_back(
        {.priority = priorities.empty() ? std::uint8_t{0} : priorities[i], .id = ids[i]});
  }
}

constexpr std::string_view kArp = "arp";

/// Reads a MAC address; "arp" gives nullopt.
Parsed<std::optional<wire::MacAddress>> read_mac_or_arp(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text != nullptr && *text == kArp) return std::nullopt;
  const auto mac = read_mac(value);
  if (!mac) return std::unexpected(mac.error() + ", or \"arp\"");
  return *mac;
}

}  // namespace

void read_network(const Table& table, Flow& flow) {
  const bool rocev1 = table.get_or("encapsulation", choice(kEncapsulations), false);
  flow.frame.source_mac =
      table.get_or("source_mac", read_mac, *wire::parse_mac("02:00:00:00:00:01"));
  read_vlans(table, flow);
  read_ip_layer(table, flow, rocev1);
}

void read_next_hop(const Table& table, Flow& flow) {
  const auto mac =
      table.get_or("destination_mac", read_mac_or_arp, wire::parse_mac("02:00:00:00:00:02"));
  flow.resolve_mac = !mac.has_value();
  flow.frame.destination_mac = mac.value_or(wire::MacAddress{});
  if (flow.resolve_mac && table.has_own("destination_mac_step")) {
    table.refuse("destination_mac_step", "expected no step with destination_mac = \"arp\"");
  }
  flow.gateway = table.get("gateway", read_ip);
  const bool v6 = flow.frame.encapsulation != wire::Encapsulation::ipv4;
  if (!flow.gateway) return;
  if (!flow.resolve_mac && table.has_own("gateway")) {
    table.refuse("gateway", "expected only with destination_mac = \"arp\"");
  }
  if (std::holds_alternative<wire::Ipv6Address>(*flow.gateway) != v6) {
    table.refuse("gateway", "expected an address of the source's family");
  }
}

ArpConfig read_arp_config(const Table& root) {
  ArpConfig presence;
  const auto table = root.table("presence");
  if (!table) return presence;
  presence.wanted = true;
  presence.addresses = table->get_or("addresses", list_of(read_ip), {});
  presence.mac = table->get("mac", read_mac);
  table->finish();
  return presence;
}

}  // namespace lw::config
