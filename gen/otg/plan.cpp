// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "core/limits.h"
#include "core/names.h"
#include "core/quantity.h"
#include "gen/limits.h"
#include "gen/otg/limits.h"
#include "gen/otg/packet_plan.h"
#include "gen/otg/plan_names.h"
#include "gen/otg/rates.h"
#include "nic/port_spec.h"
#include "transport/packet.h"

namespace lw::gen::otg {
namespace {

/// The addresses of the two ends of a connection.
using Ends = std::pair<wire::IpAddress, wire::IpAddress>;

constexpr std::uint32_t kLastNumber = 0xffffff;  // of QPs, and of PSNs
constexpr std::uint32_t kStandardNumber = 2;     // of a QP

/// Makes the plan of one configuration, part by part.
class Planner {
 public:
  Planner(const Config& config, ModelReader& reader) : config_(config), reader_(reader) {}

  LabPlan plan() {
    add_ports();
    add_speeds();
    add_captures();
    for (const DeviceMessage& device : config_.devices)
      for (const EthernetMessage& ethernet : device.ethernets) add_hosts(ethernet);
    for (const DeviceMessage& device : config_.devices) add_peers(device);
    number_qps();
    add_options();
    add_flows();
    connect();
    plan_.packets = plan_packets(config_.flows, plan_, reader_);
    return std::move(plan_);
  }

 private:
  void add_ports();
  void add_port(const PortMessage& port);
  void add_speeds();
  void add_captures();
  void add_hosts(const EthernetMessage& ethernet);
  void add_host(PlannedHost host, const std::string& path);
  void add_peers(const DeviceMessage& device);
  template <class Interface>
  void add_interface(const Interface& interface, const std::string& host_name, const char* key);
  template <class PeerMessage>
  void add_peer(const PeerMessage& peer, std::size_t host, std::uint64_t ib_mtu);
  void add_qp(const QpMessage& qp, std::size_t peer, std::uint64_t ib_mtu);
  void check_parameters(const QpParameters& parameters);
  void number_qps();
  void add_options();
  void add_flows();
  void add_flow_group(const TxPort& group);
  void add_flow(const RoceFlow& flow, const TxPort& group, std::set<std::size_t>& qps);
  void connect();
  void join_named(const RoceFlow& flow, std::size_t qp);
  void join(std::size_t one, std::size_t other);
  void join_rest();
  void check_partners();

  std::optional<std::size_t> find(const Names& names, const std::string& name,
                                  const std::string& path, const char* what) {
    return find_name(names, name, path, what, reader_);
  }
  void add_name(Names& names, const std::string& name, std::size_t index, const std::string& path) {
    otg::add_name(names, name, index, path, reader_);
  }
  [[nodiscard]] Ends ends_of(const PlannedQp& qp) const {
    return {plan_.hosts[qp.host].own.ip, plan_.peers[qp.peer].destination};
  }
  [[nodiscard]] bool has_host(const wire::IpAddress& ip) const {
    return std::ranges::any_of(plan_.hosts,
                               [&](const PlannedHost& host) { return host.own.ip == ip; });
  }

  const Config& config_;
  ModelReader& reader_;
  LabPlan plan_;
  PlanNames& names_ = plan_.names;
};

void Planner::add_ports() {
  if (config_.ports.size() > kMostPorts)
    reader_.refuse("ports", fmt::format("expected at most {} ports, found {}", kMostPorts,
                                        config_.ports.size()));
  for (const PortMessage& port : config_.ports) add_port(port);
}

/// A location is PORT or PORT,rate=RATE.
void Planner::add_port(const PortMessage& port) {
  constexpr std::string_view kRate = ",rate=";
  PlannedPort planned{.name = port.name, .location = port.location, .spec = port.location};
  if (const auto at = port.location.rfind(kRate); at != std::string::npos) {
    planned.spec = port.location.substr(0, at);
    const auto rate = parse_bit_rate(port.location.substr(at + kRate.size()));
    if (rate)
      planned.line_bps = *rate;
    else
      reader_.refuse(port.path + ".location", rate.error());
  }
  const auto spec = nic::parse_port_spec(planned.spec);
  if (!spec)
    reader_.refuse(port.path + ".location", spec.error().message);
  else if (spec->as<nic::PcapSpec>() != nullptr || spec->as<nic::RawSpec>() != nullptr)
    reader_.refuse(port.path + ".location",
                   "files, and arguments of DPDK, are not taken from clients: expected an "
                   "interface, a PCI address, memif:, vhost: or null");
  ModelReader::set_standards(PerPortRoce::message(), &planned.settings);
  add_name(names_.ports, port.name, plan_.ports.size(), port.path + ".name");
  plan_.ports.push_back(std::move(planned));
}

void Planner::add_speeds() {
  for (const Layer1& layer : config_.layer1) {
    for (std::size_t i = 0; i < layer.port_names.size(); ++i) {
      const auto port = find(names_.ports, layer.port_names[i],
                             fmt::format("{}.port_names[{}]", layer.path, i), "port");
      if (port && !layer.speed.empty() && !plan_.ports[*port].line_bps)
        plan_.ports[*port].line_bps = bps_of_speed(layer.speed);
    }
  }
}

void Planner::add_captures() {
  for (const Capture& capture : config_.captures) {
    for (std::size_t i = 0; i < capture.port_names.size(); ++i) {
      const std::string path = fmt::format("{}.port_names[{}]", capture.path, i);
      const auto port = find(names_.ports, capture.port_names[i], path, "port");
      if (!port) continue;
      if (plan_.ports[*port].capture) reader_.refuse(path, "the port has a capture already");
      plan_.ports[*port].capture = {.pcapng = capture.format == "pcapng",
                                    .packet_size = static_cast<std::uint32_t>(capture.packet_size)};
    }
  }
}

void Planner::add_hosts(const EthernetMessage& ethernet) {
  if (ethernet.vlans.size() > 1)
    reader_.refuse(ethernet.path + ".vlans", "expected one tag at most");
  if (!ethernet.connection || !ethernet.mac) return;
  const auto port = find(names_.ports, ethernet.connection->port_name,
                         ethernet.path + ".connection.port_name", "port");
  PlannedHost host{.ethernet = ethernet.name, .port = port.value_or(0), .mtu = ethernet.mtu};
  if (!ethernet.vlans.empty()) host.vlan = ethernet.vlans.front();
  const auto add = [&](const auto& address) {
    PlannedHost each = host;
    each.name = address.name;
    each.own = {*ethernet.mac, address.address};
    each.gateway = address.gateway;
    each.prefix = address.prefix;
    if (address.gateway_mac && address.gateway_mac->choice == "value")
      each.gateway_mac = address.gateway_mac->value;
    add_host(std::move(each), address.path);
  };
  for (const Ipv4Message& address : ethernet.ipv4_addresses) add(address);
  for (const Ipv6Message& address : ethernet.ipv6_addresses) add(address);
}

void Planner::add_host(PlannedHost host, const std::string& path) {
  if (has_host(host.own.ip))
    reader_.refuse(path + ".address",
                   fmt::format("{} is the address of another interface", to_string(host.own.ip)));
  add_name(names_.hosts, host.name, plan_.hosts.size(), path + ".name");
  plan_.hosts.push_back(std::move(host));
}

void Planner::add_peers(const DeviceMessage& device) {
  if (!device.rocev2) return;
  for (const V4Interface& each : device.rocev2->ipv4_interfaces)
    add_interface(each, each.ipv4_name, ".ipv4_name");
  for (const V6Interface& each : device.rocev2->ipv6_interfaces)
    add_interface(each, each.ipv6_name, ".ipv6_name");
}

template <class Interface>
void Planner::add_interface(const Interface& interface, const std::string& host_name,
                            const char* key) {
  constexpr bool kV4 = std::is_same_v<Interface, V4Interface>;
  if (interface.ib_mtu < kLeastPacketPayload)
    reader_.refuse(interface.path + ".ib_mtu",
                   fmt::format("expected {} to {} bytes, found {}", kLeastPacketPayload,
                               kMostPacketPayload, interface.ib_mtu));
  const auto host =
      find(names_.hosts, host_name, interface.path + key, kV4 ? "IPv4 address" : "IPv6 address");
  if (!host) return;
  const PlannedHost& own = plan_.hosts[*host];
  if (std::holds_alternative<wire::Ipv4Address>(own.own.ip) != kV4)
    return reader_.refuse(interface.path + key, "is an address of the other IP version");
  constexpr std::uint64_t kHeaders = (kV4 ? 20 : 40) + 8 + 12 + 16 + 4 + 4 + 3;  // IP to ICRC, pad
  if (interface.ib_mtu + kHeaders > own.mtu)
    reader_.refuse(interface.path + ".ib_mtu",
                   fmt::format("packets of {} bytes do not fit the interface's mtu of {}: expected "
                               "an mtu of {} or more",
                               interface.ib_mtu, own.mtu, interface.ib_mtu + kHeaders));
  for (const auto& peer : interface.peers) add_peer(peer, *host, interface.ib_mtu);
}

template <class PeerMessage>
void Planner::add_peer(const PeerMessage& peer, std::size_t host, std::uint64_t ib_mtu) {
  const std::size_t index = plan_.peers.size();
  add_name(names_.peers, peer.name, index, peer.path + ".name");
  if (plan_.hosts[host].own.ip == wire::IpAddress(peer.destination_ip_address))
    reader_.refuse(peer.path + ".destination_ip_address", "is the address of the peer itself");
  plan_.peers.push_back(
      {.name = peer.name, .host = host, .destination = peer.destination_ip_address, .qps = {}});
  for (const QpMessage& qp : peer.qps) add_qp(qp, index, ib_mtu);
}

void Planner::check_parameters(const QpParameters& parameters) {
  const auto check = [&](const char* key, std::uint64_t value) {
    if (value > kLastNumber)
      reader_.refuse(parameters.path + key,
                     fmt::format("expected 24 bits, up to {}, found {}", kLastNumber, value));
  };
  check(".source_qp_number", parameters.source_qp_number);
  check(".initial_psn", parameters.initial_psn);
  if (parameters.virtual_address.value > UINT64_MAX - kMostMessage)
    reader_.refuse(parameters.path + ".virtual_address",
                   "expected an address with 2 GiB behind it");
}

void Planner::add_qp(const QpMessage& qp, std::size_t peer, std::uint64_t ib_mtu) {
  const QpParameters& parameters = qp.connection_type.reliable_connection;
  check_parameters(parameters);
  if (plan_.qps.size() == kMostQps)
    return reader_.refuse(qp.path, fmt::format("expected at most {} QPs", kMostQps));
  add_name(names_.qps, qp.qp_name, plan_.qps.size(), qp.path + ".qp_name");
  plan_.peers[peer].qps.push_back(plan_.qps.size());
  plan_.qps.push_back({.name = qp.qp_name,
                       .host = plan_.peers[peer].host,
                       .peer = peer,
                       .ib_mtu = static_cast<std::uint32_t>(ib_mtu),
                       .parameters = parameters});
}

/// Gives QPs their numbers. Clients write the standard number where the user gave none, so it may
/// be there several times.
void Planner::number_qps() {
  std::map<std::size_t, std::set<std::uint32_t>> taken;  // by host
  const auto is_standard = [](const PlannedQp& qp) {
    return qp.parameters.source_qp_number == kStandardNumber;
  };
  for (PlannedQp& qp : plan_.qps) {
    qp.number = static_cast<std::uint32_t>(qp.parameters.source_qp_number & kLastNumber);
    if (!is_standard(qp) && !taken[qp.host].insert(qp.number).second)
      reader_.refuse(qp.parameters.path + ".source_qp_number",
                     fmt::format("{} is the number of another QP of this address", qp.number));
  }
  for (PlannedQp& qp : plan_.qps) {
    if (!is_standard(qp)) continue;
    while (!taken[qp.host].insert(qp.number).second) ++qp.number;
  }
}

void Planner::add_options() {
  if (!config_.options) return;
  plan_.starts =
      config_.options->protocol_options && config_.options->protocol_options->auto_start_all;
  std::set<std::size_t> seen;
  for (const PerPortOptions& options : config_.options->per_port_options) {
    const auto port = find(names_.ports, options.port_name, options.path + ".port_name", "port");
    if (!port) continue;
    if (!seen.insert(*port).second || options.protocols.size() > 1)
      reader_.refuse(options.path, "expected the settings of RoCEv2 once for each port");
    for (const PortProtocol& protocol : options.protocols)
      plan_.ports[*port].settings = protocol.rocev2;
  }
}

void Planner::add_flows() {
  if (!config_.stateful_flows) return;
  for (const RoceFlows& flows : config_.stateful_flows->rocev2)
    for (const TxPort& group : flows.tx_ports) add_flow_group(group);
}

void Planner::add_flow_group(const TxPort& group) {
  const auto port = find(names_.ports, group.port_name, group.path + ".port_name", "port");
  const TargetLineRate& rate = group.transmit_type.target_line_rate;
  std::set<std::size_t> qps;
  for (const RoceFlow& flow : rate.flows) add_flow(flow, group, qps);
  for (const std::size_t qp : qps) {
    PlannedQp& sender = plan_.qps[qp];
    if (sender.share_percent > 0 && sender.rated_port != port.value_or(0))
      reader_.refuse(group.path, fmt::format("QP \"{}\" has flows at the rate of another port",
                                             excerpt(sender.name)));
    sender.rated_port = port.value_or(0);
    sender.share_percent += static_cast<double>(rate.value) / static_cast<double>(qps.size());
  }
}

void Planner::add_flow(const RoceFlow& flow, const TxPort& group, std::set<std::size_t>& qps) {
  add_name(names_.flows, flow.name, plan_.flows.size(), flow.path + ".name");
  const auto size = bytes_of_message(flow.message_size, flow.message_size_unit);
  if (size == 0 || size > kMostMessage)
    reader_.refuse(flow.path + ".message_size",
                   fmt::format("expected 1 to {} bytes, found {}", kMostMessage, size));
  const auto qp = find(names_.qps, flow.tx_endpoint, flow.path + ".tx_endpoint", "QP");
  if (!qp) return;
  if (transport::packets_of(size, plan_.qps[*qp].ib_mtu) > transport::kMostPackets)
    reader_.refuse(flow.path + ".message_size",
                   fmt::format("a message has at most {} packets of {} bytes",
                               transport::kMostPackets, plan_.qps[*qp].ib_mtu));
  qps.insert(*qp);
  const std::string& at = plan_.ports.empty()
                              ? group.port_name
                              : plan_.ports[plan_.hosts[plan_.qps[*qp].host].port].name;
  if (at != group.port_name)
    plan_.warnings.push_back(fmt::format(
        "{}.tx_endpoint: QP \"{}\" sends through port \"{}\", at its share of the line rate of "
        "\"{}\"",
        flow.path, excerpt(flow.tx_endpoint), at, excerpt(group.port_name)));
  const std::string& verb = flow.rocev2_verb.choice;
  PlannedFlow planned{.name = flow.name, .qp = *qp, .size = static_cast<std::uint32_t>(size)};
  planned.operation = verb == "read"             ? wire::Operation::read_request
                      : verb.starts_with("send") ? wire::Operation::send
                                                 : wire::Operation::write;
  planned.immediate = verb.ends_with("immediate");
  const ImmediateData& data = verb.starts_with("send") ? flow.rocev2_verb.send_with_immediate
                                                       : flow.rocev2_verb.write_with_immediate;
  planned.word = static_cast<std::uint32_t>(data.immediate_data.value);
  plan_.flows.push_back(std::move(planned));
}

/// Connects QPs: those that flows name, and all others in their order.
void Planner::connect() {
  if (config_.stateful_flows)
    for (const RoceFlows& flows : config_.stateful_flows->rocev2)
      for (const TxPort& group : flows.tx_ports)
        for (const RoceFlow& flow : group.transmit_type.target_line_rate.flows)
          if (const auto qp = names_.qps.find(flow.tx_endpoint); qp != names_.qps.end())
            join_named(flow, qp->second);
  join_rest();
  check_partners();
}

void Planner::join(std::size_t one, std::size_t other) {
  plan_.qps[one].partner = other;
  plan_.qps[other].partner = one;
}

void Planner::join_named(const RoceFlow& flow, std::size_t qp) {
  if (flow.rx_endpoint.empty() || names_.ports.contains(flow.rx_endpoint)) return;
  const auto other = find(names_.qps, flow.rx_endpoint, flow.path + ".rx_endpoint", "QP or port");
  if (!other) return;
  const Ends ends = ends_of(plan_.qps[*other]);
  if (ends_of(plan_.qps[qp]) != Ends{ends.second, ends.first})
    return reader_.refuse(flow.path + ".rx_endpoint",
                          "its peer and that of tx_endpoint are not each other's destinations");
  const auto partner = plan_.qps[qp].partner, back = plan_.qps[*other].partner;
  if (partner.value_or(*other) != *other || back.value_or(qp) != qp)
    return reader_.refuse(flow.path + ".rx_endpoint",
                          "one of the two QPs is connected to another one by an earlier flow");
  join(qp, *other);
}

/// The QPs of two addresses that no flow names are connected in order, and so are those to an
/// address of another configuration.
void Planner::join_rest() {
  std::map<Ends, std::vector<std::size_t>> open;
  for (std::size_t i = 0; i < plan_.qps.size(); ++i)
    if (!plan_.qps[i].partner) open[ends_of(plan_.qps[i])].push_back(i);
  for (const auto& [ends, qps] : open) {
    const auto others = open.find({ends.second, ends.first});
    if (others == open.end() || ends.second < ends.first) continue;
    for (std::size_t i = 0; i < std::min(qps.size(), others->second.size()); ++i)
      join(qps[i], others->second[i]);
  }
  std::map<Ends, std::uint32_t> orders;
  for (PlannedQp& qp : plan_.qps) {
    const Ends ends = ends_of(qp);
    if (qp.partner && ends.second < ends.first) continue;
    qp.order = orders[ends]++;
    if (qp.partner) plan_.qps[*qp.partner].order = qp.order;
  }
}

void Planner::check_partners() {
  for (const PlannedQp& qp : plan_.qps) {
    const wire::IpAddress& there = plan_.peers[qp.peer].destination;
    if (!qp.partner && has_host(there))
      reader_.refuse(qp.parameters.path.empty() ? qp.name : qp.parameters.path,
                     fmt::format("QP \"{}\": {} has no QP to connect it to", excerpt(qp.name),
                                 to_string(there)));
    if (qp.partner && plan_.qps[*qp.partner].ib_mtu != qp.ib_mtu)
      reader_.refuse(qp.parameters.path.empty() ? qp.name : qp.parameters.path,
                     fmt::format("QP \"{}\": the two ends have an ib_mtu of {} and of {}",
                                 excerpt(qp.name), qp.ib_mtu, plan_.qps[*qp.partner].ib_mtu));
  }
}

}  // namespace

LabPlan make_plan(const Config& config, ModelReader& reader) {
  return Planner(config, reader).plan();
}

}  // namespace lw::gen::otg
