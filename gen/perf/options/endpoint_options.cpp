// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/endpoint_options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <netdb.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include "config/class/traffic_class.h"
#include "config/toml/profile_search.h"
#include "core/quantity.h"

namespace lw::gen {
namespace {

wire::IpAddress benchmark_ip(unsigned host, bool v6) {
  return *wire::parse_ip(fmt::format("{}{}", v6 ? "2001:db8::" : "198.18.0.", host));
}

}  // namespace

void add_class_options(app::Options& options, ClassOptions& traffic) {
  options.begin_group(kClassOptions);
  options.add("--class", app::profile(traffic.profile, {config::kClassProfiles}), "PROFILE",
              "class of traffic: a profile with a table [class]; the options below replace its "
              "values");
  for (const roce::ClassSetting& setting : roce::class_settings()) {
    app::OptionValue value{.read = [&traffic, &setting](std::string_view text) {
      return setting.set(traffic.given, text);
    }};
    value.repeats = setting.of_kinds;
    options.add(setting.options, std::move(value), setting.placeholder, setting.help);
  }
  options.begin_group("");
}

Result<roce::ClassOfTraffic> load_class(const ClassOptions& traffic) {
  if (traffic.profile.empty()) return traffic.given.over(traffic.layout);
  const auto profile = config::load_traffic_class(traffic.profile);
  if (!profile) return std::unexpected(profile.error());
  return traffic.given.over(*profile).over(traffic.layout);
}

Result<roce::ClassOfTraffic> load_device_class(const ClassOptions& traffic) {
  auto loaded = load_class(traffic);
  if (!loaded) return loaded;
  const auto& kinds = loaded->kinds;
  const auto& cnp = kinds[static_cast<std::size_t>(roce::ClassKind::cnp)];
  if (kinds[1] != kinds[0] || kinds[2] != kinds[0] || cnp != roce::ClassOfTraffic::Marks{})
    return fail(
        "--dscp, --ecn and --priority of kinds: a device sends data, ACKs and NAKs of a QP "
        "in one class, and CNPs in one that its driver sets: give one value, or measure "
        "through a port");
  if (loaded->vlan)
    return fail("--vlan: a device takes the VLAN from the interface of its GID: give that --gid");
  if (loaded->source_port)
    return fail(
        "--source-port: a device chooses the UDP source port, by its QPs or by the "
        "--flow-label");
  return loaded;
}

void warn_of_hop_limit(const roce::ClassOfTraffic& traffic) {
  if (!traffic.hop_limit) return;
  fmt::print(stderr,
             "warning: --hop-limit {0}: Linux takes a device's hop limit from the route, whatever "
             "the verb asks for: `ip route change ... hoplimit {0}`\n",
             *traffic.hop_limit);
}

Result<roce::ClassOfTraffic> traffic_of(const EndpointOptions& options) {
  auto traffic = load_class(options.traffic);
  if (!traffic) return traffic;
  const auto has = [&](auto mark) {
    return std::ranges::any_of(traffic->kinds,
                               [mark](const auto& kind) { return (kind.*mark).has_value(); });
  };
  if (options.rocev1 && (has(&roce::ClassOfTraffic::Marks::ecn) || traffic->source_port))
    return fail(
        "--encapsulation rocev1: goes without --ecn, --tos and --source-port: its frames "
        "have no ECN and no UDP header");
  if (has(&roce::ClassOfTraffic::Marks::priority) && !traffic->vlan)
    fmt::print(stderr,
               "the priority is in no frame: it is in the VLAN tag, and there is no --vlan\n");
  return traffic;
}

void add_endpoint_options(app::Options& options, EndpointOptions& endpoint) {
  options.add("--address", app::text(endpoint.address), "IP", "own IPv4 or IPv6 address")
      .defaults_to("198.18.0.1, responder 198.18.0.2; or 2001:db8::1, ::2");
  options.add("--mac", app::text(endpoint.mac), "MAC", "own MAC address")
      .defaults_to("02:00:00:00:00:01, responder 02:00:00:00:00:02");
  options.add("--encapsulation",
              app::choice<bool>(endpoint.rocev1, {{"rocev2", false}, {"rocev1", true}}), "HOW",
              "of frames sent and taken: rocev2, or rocev1 (a GRH in place of IP and UDP; an IPv4 "
              "address as ::ffff:a.b.c.d). The same on both sides");
  options.add("--service", app::number(endpoint.service), "N",
              "port number of the responder, as in rdma_cm");
  options
      .add("--wait", app::parsed(parse_duration, endpoint.wait), "TIME",
           "longest wait for the link and the other side")
      .defaults_to("10s");
  options.add(
      "--idle",
      app::choice<IdleMode>(
          endpoint.idle,
          {{"adaptive", IdleMode::adaptive}, {"yield", IdleMode::yield}, {"spin", IdleMode::spin}}),
      "HOW",
      "with nothing to do: adaptive (sleep 50 to 200 us), yield (the core, between two polls) "
      "or spin");
  options.add_flag("--verbose", endpoint.verbose, "show DPDK's log");
  add_class_options(options, endpoint.traffic);
}

Parsed<wire::IpAddress> read_ip(std::string_view text) {
  if (const auto ip = wire::parse_ip(text)) return *ip;
  return std::unexpected(fmt::format(
      "expected an IPv4 or IPv6 address such as 198.18.0.2 or 2001:db8::2, found \"{}\"", text));
}

Parsed<wire::MacAddress> read_mac(std::string_view text) {
  if (const auto mac = wire::parse_mac(text)) return *mac;
  return std::unexpected(
      fmt::format("expected a MAC address such as 02:00:00:00:00:02, found \"{}\"", text));
}

Result<wire::IpAddress> read_ip(const std::string& option, const std::string& text) {
  const auto ip = read_ip(text);
  return ip ? Result<wire::IpAddress>(*ip) : fail(option + ": " + ip.error());
}

Result<wire::MacAddress> read_mac(const std::string& option, const std::string& text) {
  const auto mac = read_mac(text);
  return mac ? Result<wire::MacAddress>(*mac) : fail(option + ": " + mac.error());
}

namespace {

/// Returns the first address of a host name; nothing if the system can't resolve it.
std::optional<wire::IpAddress> resolve_name(const std::string& name) {
  addrinfo* list = nullptr;
  if (getaddrinfo(name.c_str(), nullptr, nullptr, &list) != 0) return std::nullopt;
  char text[INET6_ADDRSTRLEN] = "";
  getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST);
  freeaddrinfo(list);
  return wire::parse_ip(text);
}

}  // namespace

Result<HostService> read_host_service(const std::string& option, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::uint16_t service = 0;
  const char* end = text.data() + text.size();
  const bool numbered = colon != std::string::npos && colon > 0 &&
                        std::from_chars(text.data() + colon + 1, end, service).ptr == end &&
                        service != 0;
  std::string host = numbered ? text.substr(0, colon) : "";
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty() || (!bracketed && host.contains(':'))) {
    return fail(
        fmt::format("{}: expected HOST:SERVICE such as 192.0.2.2:7174 or "
                    "[2001:db8::2]:7174, found \"{}\"",
                    option, text));
  }
  if (const auto ip = wire::parse_ip(host)) return HostService{*ip, service};
  const auto ip = resolve_name(host);
  if (!ip) return fail(fmt::format("{}: no address is known for the host \"{}\"", option, host));
  return HostService{*ip, service};
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
