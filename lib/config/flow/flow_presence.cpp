// SPDX-License-Identifier: BSD-3-Clause
#include "config/flow/flow_sections.h"

namespace lw::config {
namespace {

constexpr std::string_view kArp = "arp";

/// A MAC address; nothing for "arp", which asks the network for it.
Parsed<std::optional<wire::MacAddress>> read_mac_or_arp(const Value& value) {
  const auto* text = std::get_if<std::string>(&value.data);
  if (text != nullptr && *text == kArp) return std::nullopt;
  const auto mac = read_mac(value);
  if (!mac) return std::unexpected(mac.error() + ", or \"arp\"");
  return *mac;
}

}  // namespace

void read_next_hop(const Table& table, Flow& flow) {
  const auto mac =
      table.get_or("destination_mac", read_mac_or_arp, wire::parse_mac("02:00:00:00:00:02"));
  flow.resolve_mac = !mac.has_value();
  flow.frame.destination_mac = mac.value_or(wire::MacAddress{});
  if (flow.resolve_mac && table.has_itself("destination_mac_step")) {
    table.refuse("destination_mac_step", "expected no such key beside destination_mac = \"arp\"");
  }
  flow.gateway = table.get("gateway", read_ip);
  const bool v6 = flow.frame.encapsulation != wire::Encapsulation::ipv4;
  if (!flow.gateway) return;
  if (!flow.resolve_mac && table.has_itself("gateway")) {
    table.refuse("gateway", "expected only beside destination_mac = \"arp\"");
  }
  if (std::holds_alternative<wire::Ipv6Address>(*flow.gateway) != v6) {
    table.refuse("gateway", "expected an address of the same family as the source");
  }
}

Presence read_presence(const Table& root) {
  Presence presence;
  const auto table = root.table("presence");
  if (!table) return presence;
  presence.wanted = true;
  presence.addresses = table->get_or("addresses", list_of(read_ip), {});
  presence.mac = table->get("mac", read_mac);
  table->finish();
  return presence;
}

}  // namespace lw::config
