// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/options.h"

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::gen {
namespace {

wire::IpAddress benchmark_ip(unsigned host, bool v6) {
  return *wire::parse_ip(fmt::format("{}{}", v6 ? "2001:db8::" : "198.18.0.", host));
}

}  // namespace

void add_endpoint_options(CLI::App* command, EndpointOptions& options) {
  command->add_option("--address", options.address, "Our IPv4 or IPv6 address")
      ->type_name("IP")
      ->default_str("198.18.0.1, of a responder 198.18.0.2; or 2001:db8::1, ::2");
  command->add_option("--mac", options.mac, "Our MAC address")
      ->type_name("MAC")
      ->default_str("02:00:00:00:00:01, :02");
  command->add_option("--service", options.service, "The responder's port number, in rdma_cm's")
      ->type_name("N")
      ->capture_default_str();
  const auto read = [&options](const std::string& text) {
    const auto time = parse_duration(text);
    if (!time) throw CLI::ValidationError("--wait", time.error());
    options.wait = *time;
  };
  command->add_option_function<std::string>("--wait", read, "For the link and the other side")
      ->type_name("TIME")
      ->default_str("10s");
  command
      ->add_option_function<std::string>(
          "--idle", [&options](const std::string& how) { options.idle = idle_mode_of(how); },
          "With nothing to do: adaptive (naps of 10 us), yield (the core, between two looks) or "
          "spin")
      ->check(CLI::IsMember(kIdleModes))
      ->type_name("HOW")
      ->default_str("adaptive");
  command->add_flag("--verbose", options.verbose, "Show what DPDK says");
}

Result<wire::IpAddress> read_ip(const std::string& option, const std::string& text) {
  if (const auto ip = wire::parse_ip(text)) return *ip;
  return fail(fmt::format("{}: expected an address such as 198.18.0.2 or 2001:db8::2, found \"{}\"",
                          option, text));
}

Result<wire::MacAddress> read_mac(const std::string& option, const std::string& text) {
  if (const auto mac = wire::parse_mac(text)) return *mac;
  return fail(fmt::format("{}: expected a MAC address such as 02:00:00:00:00:02, found \"{}\"",
                          option, text));
}

Result<OwnAddress> address_of(const EndpointOptions& options, unsigned host,
                              const std::optional<wire::IpAddress>& like) {
  const bool v6 = like && std::holds_alternative<wire::Ipv6Address>(*like);
  OwnAddress own{*wire::parse_mac(fmt::format("02:00:00:00:00:{:02x}", host)),
                 benchmark_ip(host, v6)};
  if (!options.address.empty()) {
    const auto ip = read_ip("--address", options.address);
    if (!ip) return std::unexpected(ip.error());
    own.ip = *ip;
  }
  if (!options.mac.empty()) {
    const auto mac = read_mac("--mac", options.mac);
    if (!mac) return std::unexpected(mac.error());
    own.mac = *mac;
  }
  if (like && like->index() != own.ip.index()) {
    return fail("--address and --peer: one is IPv4, the other IPv6");
  }
  return own;
}

}  // namespace lw::gen
