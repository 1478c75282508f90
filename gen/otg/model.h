// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/otg/model_flow.h"
#include "gen/otg/model_rocev2.h"

/// The messages of a configuration, of version 1.61.0 of the model, each with its rows: see
/// field.h. Members have the names and the units of the model; its defaults are in the rows.
/// `path`: where the message is in the JSON.
namespace lw::gen::otg {

/// Why messages of other protocols are refused.
inline constexpr std::string_view kNoProtocol =
    "devices speak ARP, neighbour discovery and RoCEv2 only";

struct PortMessage {
  std::string path, name, location;
  static const ModelMessage& message();
};

struct Layer1 {
  std::string path, name, speed;
  std::vector<std::string> port_names;
  static const ModelMessage& message();
};

struct Capture {
  std::string path, name, format;
  std::vector<std::string> port_names;
  std::uint64_t packet_size = 0;  // 0: whole frames
  static const ModelMessage& message();
};

struct EthernetConnection {
  std::string choice, port_name;
  static const ModelMessage& message();
};

struct VlanMessage {
  std::string path, name;
  std::uint64_t priority = 0, id = 0;
  static const ModelMessage& message();
};

/// The MAC address of a gateway.
struct GatewayMac {
  std::string choice;
  std::optional<wire::MacAddress> value;
  static const ModelMessage& of_ipv4();
  static const ModelMessage& of_ipv6();
};

struct Ipv4Message {
  std::string path, name;
  wire::Ipv4Address address, gateway;
  std::optional<GatewayMac> gateway_mac;
  std::uint64_t prefix = 0;
  static const ModelMessage& message();
};

struct Ipv6Message {
  std::string path, name;
  wire::Ipv6Address address, gateway;
  std::optional<GatewayMac> gateway_mac;
  std::uint64_t prefix = 0;
  static const ModelMessage& message();
};

struct EthernetMessage {
  std::string path, name;
  std::optional<EthernetConnection> connection;
  std::optional<wire::MacAddress> mac;
  std::uint64_t mtu = 0;
  std::vector<VlanMessage> vlans;
  std::vector<Ipv4Message> ipv4_addresses;
  std::vector<Ipv6Message> ipv6_addresses;
  static const ModelMessage& message();
};

struct DeviceMessage {
  std::string path, name;
  std::vector<EthernetMessage> ethernets;
  std::optional<RocePeers> rocev2;
  static const ModelMessage& message();
};

struct PortProtocol {
  std::string choice;
  PerPortRoce rocev2;
  static const ModelMessage& message();
};

struct PerPortOptions {
  std::string path, port_name;
  std::vector<PortProtocol> protocols;
  static const ModelMessage& message();
};

struct PortOptions {
  bool location_preemption = false;
  static const ModelMessage& message();
};

struct ProtocolOptions {
  bool auto_start_all = false;
  static const ModelMessage& message();
};

struct ConfigOptions {
  std::optional<PortOptions> port_options;
  std::optional<ProtocolOptions> protocol_options;
  std::vector<PerPortOptions> per_port_options;
  static const ModelMessage& message();
};

struct Config {
  std::vector<PortMessage> ports;
  std::vector<Layer1> layer1;
  std::vector<Capture> captures;
  std::vector<DeviceMessage> devices;
  std::vector<FlowMessage> flows;
  std::optional<StatefulFlow> stateful_flows;
  std::optional<ConfigOptions> options;
  static const ModelMessage& message();
};

}  // namespace lw::gen::otg
