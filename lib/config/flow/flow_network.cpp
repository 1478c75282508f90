// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "config/flow/flow_sections.h"
#include "wire/udp.h"

namespace lw::config {
namespace {

using wire::Encapsulation;
using wire::IpAddress;
using wire::Ipv4Address;
using wire::Ipv6Address;

constexpr Choice<bool> kEncapsulations[] = {{"rocev2", false}, {"rocev1", true}};
constexpr Choice<std::uint8_t> kEcn[] = {{"not-ect", 0}, {"ect1", 1}, {"ect0", 2}, {"ce", 3}};

/// A codepoint by its name or as the two bits' number.
Parsed<std::uint8_t> read_ecn(const Value& value) {
  if (std::holds_alternative<std::string>(value.data)) return choice(kEcn)(value);
  return integer<std::uint8_t>(0, 3)(value);
}

Ipv6Address mapped(const Ipv4Address& v4) {
  Ipv6Address v6;
  v6.bytes[10] = v6.bytes[11] = std::byte{0xff};
  std::copy(v4.bytes.begin(), v4.bytes.end(), v6.bytes.begin() + 12);
  return v6;
}

/// As a GID: an IPv4 address stands in one as ::ffff:a.b.c.d.
Ipv6Address as_gid(const IpAddress& ip) {
  if (const auto* v4 = std::get_if<Ipv4Address>(&ip)) return mapped(*v4);
  return std::get<Ipv6Address>(ip);
}

struct Ends {
  IpAddress source, destination;
  [[nodiscard]] bool v6() const { return std::holds_alternative<Ipv6Address>(source); }
};

/// Absent ones are of the family that is there: IPv4 from the range kept for benchmarks
/// (RFC 2544), IPv6 from the one for documentation.
Ends read_ends(const Table& table) {
  const auto source = table.get("source", first_of(read_ip));
  const auto destination = table.get("destination", first_of(read_ip));
  const auto is_v6 = [](const auto& ip) { return ip && std::holds_alternative<Ipv6Address>(*ip); };
  const bool v6 = is_v6(source) || (!source && is_v6(destination));
  const Ends ends = {source.value_or(*wire::parse_ip(v6 ? "2001:db8::1" : "198.18.0.1")),
                     destination.value_or(*wire::parse_ip(v6 ? "2001:db8::2" : "198.18.0.2"))};
  if (ends.source.index() != ends.destination.index()) {
    table.refuse("destination", fmt::format("expected an {} address as the source is, found {}",
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
    frame.ipv6.source = as_gid(ends.source);
    frame.ipv6.destination = as_gid(ends.destination);
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
  if (ids.size() > kMostTags) table.refuse("vlan", "expected one tag or two, found more");
  if (!priorities.empty() && priorities.size() != ids.size()) {
    table.refuse("vlan_priority", fmt::format("expected one for each of {} VLAN tags, found {}",
                                              ids.size(), priorities.size()));
    return;
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    flow.frame.vlans.push_back(
        {.priority = priorities.empty() ? std::uint8_t{0} : priorities[i], .id = ids[i]});
  }
}

}  // namespace

void read_network(const Table& table, Flow& flow) {
  const bool rocev1 = table.get_or("encapsulation", choice(kEncapsulations), false);
  flow.frame.source_mac =
      table.get_or("source_mac", read_mac, *wire::parse_mac("02:00:00:00:00:01"));
  read_vlans(table, flow);
  read_ip_layer(table, flow, rocev1);
}

}  // namespace lw::config
