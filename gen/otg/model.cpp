// SPDX-License-Identifier: BSD-3-Clause
// The messages of ports, devices and options. Those of RoCEv2 are in model_rocev2.cpp.
#include "gen/otg/model.h"

namespace lw::gen::otg {
namespace {

using std::string_view;

constexpr string_view kSpeeds[] = {"speed_10_fd_mbps",  "speed_10_hd_mbps", "speed_100_fd_mbps",
                                   "speed_100_hd_mbps", "speed_1_gbps",     "speed_10_gbps",
                                   "speed_25_gbps",     "speed_40_gbps",    "speed_50_gbps",
                                   "speed_100_gbps",    "speed_200_gbps",   "speed_400_gbps",
                                   "speed_800_gbps"};
constexpr string_view kFormats[] = {"pcap", "pcapng"};
constexpr string_view kConnections[] = {"port_name"};
constexpr string_view kMacChoices[] = {"auto", "value"};
constexpr string_view kPortProtocols[] = {"rocev2"};

constexpr string_view kNoHardware = "it is set at the interface, by ip and ethtool";

template <class T>
void place(void* object, const std::string& path) {
  static_cast<T*>(object)->path = path;
}

}  // namespace

const ModelMessage& PortMessage::message() {
  using Row = ModelRowOf<PortMessage>;
  static constexpr Field kRows[] = {
      Row::of<&PortMessage::location>(
          "location",
          "the port, as PORT of other commands has it; `,rate=10Gb/s` after "
          "it is its line rate")
          .needed(),
      Row::of<&PortMessage::name>("name", "name in requests and metrics").needed()};
  static constexpr ModelMessage kMessage{"Port", kRows, place<PortMessage>};
  return kMessage;
}

const ModelMessage& Layer1::message() {
  using Row = ModelRowOf<Layer1>;
  static constexpr Field kRows[] = {
      Row::of<&Layer1::port_names>("port_names", "ports that the speed is that of").needed(),
      Row::of<&Layer1::speed>("speed", "line rate of a port whose location has none")
          .among(kSpeeds),
      Row::refused("media", kNoHardware),
      Row::only("promiscuous", "true", "a port takes frames to all addresses of its devices"),
      Row::only("mtu", "1500", kNoHardware),
      Row::refused("ieee_media_defaults", kNoHardware),
      Row::refused("auto_negotiate", kNoHardware),
      Row::refused("auto_negotiation", kNoHardware),
      Row::refused("flow_control", kNoHardware),
      Row::of<&Layer1::name>("name", "name in messages").needed()};
  static constexpr ModelMessage kMessage{"Layer1", kRows, place<Layer1>};
  return kMessage;
}

const ModelMessage& Capture::message() {
  using Row = ModelRowOf<Capture>;
  static constexpr Field kRows[] = {
      Row::of<&Capture::port_names>("port_names", "ports whose frames are captured").needed(),
      Row::refused("filters",
                   "all frames are captured; tshark -Y and roce-dissect --filter choose"),
      Row::only("overwrite", "true", "each start begins a new capture"),
      Row::of<&Capture::packet_size>("packet_size", "bytes of a frame that are kept; 0: all")
          .from(0, 65535),
      Row::of<&Capture::format>("format", "format of the file").among(kFormats).standard("pcap"),
      Row::of<&Capture::name>("name", "name in messages").needed()};
  static constexpr ModelMessage kMessage{"Capture", kRows, place<Capture>};
  return kMessage;
}

const ModelMessage& EthernetConnection::message() {
  using Row = ModelRowOf<EthernetConnection>;
  static constexpr Field kRows[] = {
      Row::of<&EthernetConnection::choice>("choice", "what the interface is connected to")
          .among(kConnections),
      Row::of<&EthernetConnection::port_name>("port_name", "port of the interface").needed(),
      Row::refused("lag_name", "ports are not joined to LAGs"),
      Row::refused("vxlan_name", "there are no tunnels"),
      Row::refused("simulated_link", "devices are hosts at ports")};
  static constexpr ModelMessage kMessage{"Ethernet.Connection", kRows};
  return kMessage;
}

const ModelMessage& VlanMessage::message() {
  using Row = ModelRowOf<VlanMessage>;
  static constexpr Field kRows[] = {
      Row::only("tpid", "x8100", "tags have the type 0x8100"),
      Row::of<&VlanMessage::priority>("priority", "PCP of the tag").from(0, 7).standard("0"),
      Row::of<&VlanMessage::id>("id", "VLAN id of the tag").from(0, 4095).standard("1"),
      Row::of<&VlanMessage::name>("name", "name in messages").needed()};
  static constexpr ModelMessage kMessage{"Device.Vlan", kRows, place<VlanMessage>};
  return kMessage;
}

namespace {

using GatewayRow = ModelRowOf<GatewayMac>;
constexpr Field kGatewayRows[] = {
    GatewayRow::of<&GatewayMac::choice>("choice", "auto: the gateway is asked for its address")
        .among(kMacChoices)
        .standard("auto"),
    GatewayRow::only("auto", "00:00:00:00:00:00", "the answer is in /monitor/states"),
    GatewayRow::of<&GatewayMac::value>("value", "MAC address of the gateway, which is not asked")
        .standard("00:00:00:00:00:00")};

}  // namespace

const ModelMessage& GatewayMac::of_ipv4() {
  static constexpr ModelMessage kMessage{"Device.Ipv4GatewayMAC", kGatewayRows};
  return kMessage;
}

const ModelMessage& GatewayMac::of_ipv6() {
  static constexpr ModelMessage kMessage{"Device.Ipv6GatewayMAC", kGatewayRows};
  return kMessage;
}

const ModelMessage& Ipv4Message::message() {
  using Row = ModelRowOf<Ipv4Message>;
  static constexpr Field kRows[] = {
      Row::of<&Ipv4Message::gateway>("gateway", "next hop to addresses outside of the prefix")
          .needed(),
      Row::with<&Ipv4Message::gateway_mac, &GatewayMac::of_ipv4>("gateway_mac",
                                                                 "MAC address of the gateway"),
      Row::of<&Ipv4Message::address>("address", "source address; ARP and ping are answered")
          .needed(),
      Row::of<&Ipv4Message::prefix>("prefix", "bits that neighbours have in common")
          .from(1, 32)
          .standard("24"),
      Row::of<&Ipv4Message::name>("name", "name in other fields").needed()};
  static constexpr ModelMessage kMessage{"Device.Ipv4", kRows, place<Ipv4Message>};
  return kMessage;
}

const ModelMessage& Ipv6Message::message() {
  using Row = ModelRowOf<Ipv6Message>;
  static constexpr Field kRows[] = {
      Row::of<&Ipv6Message::gateway>("gateway", "next hop to addresses outside of the prefix")
          .needed(),
      Row::with<&Ipv6Message::gateway_mac, &GatewayMac::of_ipv6>("gateway_mac",
                                                                 "MAC address of the gateway"),
      Row::of<&Ipv6Message::address>("address",
                                     "source address; solicitations and ping are answered")
          .needed(),
      Row::of<&Ipv6Message::prefix>("prefix", "bits that neighbours have in common")
          .from(1, 128)
          .standard("64"),
      Row::of<&Ipv6Message::name>("name", "name in other fields").needed()};
  static constexpr ModelMessage kMessage{"Device.Ipv6", kRows, place<Ipv6Message>};
  return kMessage;
}

const ModelMessage& EthernetMessage::message() {
  using Row = ModelRowOf<EthernetMessage>;
  static constexpr Field kRows[] = {
      Row::of<&EthernetMessage::connection>("connection", "port of the interface").needed(),
      Row::of<&EthernetMessage::ipv4_addresses>("ipv4_addresses",
                                                "IPv4 addresses of the interface"),
      Row::of<&EthernetMessage::ipv6_addresses>("ipv6_addresses",
                                                "IPv6 addresses of the interface"),
      Row::of<&EthernetMessage::mac>("mac", "source MAC address").needed(),
      Row::of<&EthernetMessage::mtu>("mtu", "longest IP packet; a longer ib_mtu is refused")
          .from(0, 65535)
          .standard("1500"),
      Row::of<&EthernetMessage::vlans>("vlans", "tag of all frames: one at most"),
      Row::of<&EthernetMessage::name>("name", "name in other fields").needed(),
      Row::refused("dhcpv4_interfaces", "addresses are those of ipv4_addresses"),
      Row::refused("dhcpv6_interfaces", "addresses are those of ipv6_addresses")};
  static constexpr ModelMessage kMessage{"Device.Ethernet", kRows, place<EthernetMessage>};
  return kMessage;
}

const ModelMessage& DeviceMessage::message() {
  using Row = ModelRowOf<DeviceMessage>;
  static constexpr Field kRows[] = {
      Row::of<&DeviceMessage::ethernets>("ethernets", "interfaces of the device"),
      Row::refused("ipv4_loopbacks", kNoProtocol),
      Row::refused("ipv6_loopbacks", kNoProtocol),
      Row::refused("isis", kNoProtocol),
      Row::refused("bgp", kNoProtocol),
      Row::refused("vxlan", kNoProtocol),
      Row::of<&DeviceMessage::name>("name", "name in messages").needed(),
      Row::refused("rsvp", kNoProtocol),
      Row::refused("dhcp_server", kNoProtocol),
      Row::refused("ospfv2", kNoProtocol),
      Row::refused("macsec", kNoProtocol),
      Row::refused("ospfv3", kNoProtocol),
      Row::of<&DeviceMessage::rocev2>("rocev2", "RoCEv2 peers of the device"),
      Row::refused("bmp", kNoProtocol)};
  static constexpr ModelMessage kMessage{"Device", kRows, place<DeviceMessage>};
  return kMessage;
}

const ModelMessage& PortProtocol::message() {
  using Row = ModelRowOf<PortProtocol>;
  static constexpr Field kRows[] = {
      Row::of<&PortProtocol::choice>("choice", "protocol that the settings are those of")
          .among(kPortProtocols)
          .standard("rocev2"),
      Row::of<&PortProtocol::rocev2>("rocev2", "settings of all QPs of the port"),
      Row::refused("macsec", kNoProtocol)};
  static constexpr ModelMessage kMessage{"Port.Protocol", kRows};
  return kMessage;
}

const ModelMessage& PerPortOptions::message() {
  using Row = ModelRowOf<PerPortOptions>;
  static constexpr Field kRows[] = {
      Row::of<&PerPortOptions::port_name>("port_name", "port that the settings are those of")
          .needed(),
      Row::of<&PerPortOptions::protocols>("protocols", "settings by protocol")};
  static constexpr ModelMessage kMessage{"PerPort.Options", kRows, place<PerPortOptions>};
  return kMessage;
}

const ModelMessage& PortOptions::message() {
  using Row = ModelRowOf<PortOptions>;
  static constexpr Field kRows[] = {
      Row::of<&PortOptions::location_preemption>(
          "location_preemption",
          "accepted: a configuration always takes the ports of the one before; those of other "
          "programs it never takes")
          .standard("false"),
      Row::only("data_integrity", "false", "the ICRC of each frame is always checked"),
      Row::refused("frame_ordering_mode", "frame_sequence_error counts what is out of order")};
  static constexpr ModelMessage kMessage{"Port.Options", kRows};
  return kMessage;
}

const ModelMessage& ProtocolOptions::message() {
  using Row = ModelRowOf<ProtocolOptions>;
  static constexpr Field kRows[] = {Row::of<&ProtocolOptions::auto_start_all>(
                                        "auto_start_all", "POST /config starts the protocols")
                                        .standard("true")};
  static constexpr ModelMessage kMessage{"Protocol.Options", kRows};
  return kMessage;
}

const ModelMessage& ConfigOptions::message() {
  using Row = ModelRowOf<ConfigOptions>;
  static constexpr Field kRows[] = {
      Row::of<&ConfigOptions::port_options>("port_options", "of all ports"),
      Row::of<&ConfigOptions::protocol_options>("protocol_options", "of all protocols"),
      Row::of<&ConfigOptions::per_port_options>("per_port_options", "of single ports"),
      Row::refused("flow_options", "a port sends what the rates of its flows ask for")};
  static constexpr ModelMessage kMessage{"Config.Options", kRows};
  return kMessage;
}

const ModelMessage& Config::message() {
  using Row = ModelRowOf<Config>;
  static constexpr Field kRows[] = {
      Row::of<&Config::ports>("ports", "ports, which POST /config opens"),
      Row::refused("lags", "ports are not joined to LAGs"),
      Row::of<&Config::layer1>("layer1", "line rates of ports"),
      Row::of<&Config::captures>("captures", "captures, which /control/state starts"),
      Row::of<&Config::devices>("devices", "hosts at the ports"),
      Row::of<&Config::flows>("flows", "frames of any headers"),
      Row::refused("events", "roce-impair's scenarios cause events"),
      Row::of<&Config::options>("options", "options of ports and protocols"),
      Row::refused("lldp", kNoProtocol),
      Row::of<&Config::stateful_flows>("stateful_flows", "what QPs send"),
      Row::refused("egress_only_tracking", "packets are not sorted by their fields")};
  static constexpr ModelMessage kMessage{"Config", kRows};
  return kMessage;
}

}  // namespace lw::gen::otg
