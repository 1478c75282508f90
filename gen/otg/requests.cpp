// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/requests.h"

#include <algorithm>

#include "gen/otg/model.h"

namespace lw::gen::otg {
namespace {

using std::string_view;

constexpr string_view kUpDown[] = {"up", "down"};
constexpr string_view kStartStop[] = {"start", "stop"};
constexpr string_view kTransmit[] = {"start", "stop", "pause", "resume"};
constexpr string_view kPortStates[] = {"link", "capture"};
constexpr string_view kProtocolStates[] = {"all", "rocev2"};
constexpr string_view kRoceStates[] = {"peers"};
constexpr string_view kTrafficStates[] = {"flow_transmit"};
constexpr string_view kResources[] = {"flows"};
constexpr string_view kStates[] = {"port", "protocol", "traffic"};
constexpr string_view kMetrics[] = {"port", "flow", "rocev2_ipv4", "rocev2_ipv6", "rocev2_flow"};
constexpr string_view kNeighbours[] = {"ipv4_neighbors", "ipv6_neighbors"};
constexpr string_view kPerPeer[] = {"per_peer"};
constexpr string_view kPerQp[] = {"per_qp"};
constexpr string_view kPortColumns[] = {
    "transmit",      "location",      "link",        "capture",        "frames_tx",
    "frames_rx",     "bytes_tx",      "bytes_rx",    "frames_tx_rate", "frames_rx_rate",
    "bytes_tx_rate", "bytes_rx_rate", "last_change", "speed"};
constexpr string_view kPeerColumns[] = {"qp_configured",
                                        "qp_up",
                                        "qp_down",
                                        "connect_request_tx",
                                        "connect_request_rx",
                                        "connect_reply_tx",
                                        "connect_reply_rx",
                                        "ready_tx",
                                        "ready_rx",
                                        "disconnect_request_tx",
                                        "disconnect_request_rx",
                                        "disconnect_reply_tx",
                                        "disconnect_reply_rx",
                                        "reject_tx",
                                        "reject_rx",
                                        "unknown_msg_rx"};
constexpr string_view kQpColumns[] = {"flow_name",
                                      "port_tx",
                                      "port_rx",
                                      "src_qp",
                                      "dest_qp",
                                      "src_ipv4",
                                      "dest_ipv4",
                                      "data_frames_tx",
                                      "data_frames_rx",
                                      "frame_delta",
                                      "data_frames_retransmitted",
                                      "frame_sequence_error",
                                      "tx_bytes",
                                      "rx_bytes",
                                      "data_tx_rate",
                                      "data_rx_rate",
                                      "message_tx",
                                      "message_complete_rx",
                                      "message_fail",
                                      "flow_completion_time",
                                      "avg_latency",
                                      "min_latency",
                                      "max_latency",
                                      "ecn_ce_rx",
                                      "cnp_tx",
                                      "cnp_rx",
                                      "ack_tx",
                                      "ack_rx",
                                      "nak_tx",
                                      "nak_rx",
                                      "first_timestamp",
                                      "last_timestamp"};

constexpr string_view kFlowColumns[] = {
    "transmit",       "frames_tx",      "frames_rx",      "bytes_tx",       "bytes_rx",
    "frames_tx_rate", "frames_rx_rate", "tx_l1_rate_bps", "rx_l1_rate_bps", "tx_rate_bytes",
    "rx_rate_bytes",  "tx_rate_bps",    "rx_rate_bps",    "tx_rate_kbps",   "rx_rate_kbps",
    "tx_rate_mbps",   "rx_rate_mbps"};

constexpr string_view kPortNames = "ports; none: all";
constexpr string_view kColumns = "columns of the answer; none: all";

}  // namespace

const ModelMessage& PortLinkState::message() {
  using Row = ModelRowOf<PortLinkState>;
  static constexpr Field kRows[] = {
      Row::of<&PortLinkState::port_names>("port_names", kPortNames),
      Row::of<&PortLinkState::state>("state", "sets the link of the ports")
          .among(kUpDown)
          .needed()};
  static constexpr ModelMessage kMessage{"State.Port.Link", kRows};
  return kMessage;
}

const ModelMessage& PortCaptureState::message() {
  using Row = ModelRowOf<PortCaptureState>;
  static constexpr Field kRows[] = {
      Row::of<&PortCaptureState::port_names>("port_names", kPortNames),
      Row::of<&PortCaptureState::state>("state", "begins or ends the captures of the ports")
          .among(kStartStop)
          .needed()};
  static constexpr ModelMessage kMessage{"State.Port.Capture", kRows};
  return kMessage;
}

const ModelMessage& PortState::message() {
  using Row = ModelRowOf<PortState>;
  static constexpr Field kRows[] = {
      Row::of<&PortState::choice>("choice", "what is set").among(kPortStates).needed(),
      Row::of<&PortState::link>("link", "links of ports"),
      Row::of<&PortState::capture>("capture", "captures of ports")};
  static constexpr ModelMessage kMessage{"State.Port", kRows};
  return kMessage;
}

const ModelMessage& AllProtocolsState::message() {
  using Row = ModelRowOf<AllProtocolsState>;
  static constexpr Field kRows[] = {
      Row::of<&AllProtocolsState::state>("state", "connects or disconnects the QPs of all peers")
          .among(kStartStop)
          .needed()};
  static constexpr ModelMessage kMessage{"State.Protocol.All", kRows};
  return kMessage;
}

const ModelMessage& PeersState::message() {
  using Row = ModelRowOf<PeersState>;
  static constexpr Field kRows[] = {
      Row::of<&PeersState::peer_names>("peer_names", "peers; none: all"),
      Row::of<&PeersState::state>("state", "connects or disconnects the QPs of the peers")
          .among(kUpDown)
          .needed()};
  static constexpr ModelMessage kMessage{"State.Protocol.Rocev2.Peers", kRows};
  return kMessage;
}

const ModelMessage& RoceState::message() {
  using Row = ModelRowOf<RoceState>;
  static constexpr Field kRows[] = {
      Row::of<&RoceState::choice>("choice", "what is set").among(kRoceStates).needed(),
      Row::of<&RoceState::peers>("peers", "RoCEv2 peers")};
  static constexpr ModelMessage kMessage{"State.Protocol.Rocev2", kRows};
  return kMessage;
}

const ModelMessage& ProtocolState::message() {
  using Row = ModelRowOf<ProtocolState>;
  static constexpr Field kRows[] = {
      Row::of<&ProtocolState::choice>("choice", "what is set").among(kProtocolStates).needed(),
      Row::of<&ProtocolState::all>("all", "all protocols"),
      Row::refused("route", kNoProtocol),
      Row::refused("lacp", kNoProtocol),
      Row::refused("bgp", kNoProtocol),
      Row::refused("isis", kNoProtocol),
      Row::refused("ospfv2", kNoProtocol),
      Row::refused("ospfv3", kNoProtocol),
      Row::of<&ProtocolState::rocev2>("rocev2", "RoCEv2")};
  static constexpr ModelMessage kMessage{"State.Protocol", kRows};
  return kMessage;
}

const ModelMessage& FlowTransmit::message() {
  using Row = ModelRowOf<FlowTransmit>;
  static constexpr Field kRows[] = {
      Row::of<&FlowTransmit::flow_names>("flow_names", "flows; none: all"),
      Row::of<&FlowTransmit::state>(
          "state",
          "start: the counters of QPs begin at 0, and messages are posted; stop and pause: no "
          "further message is posted; resume: messages are posted again")
          .among(kTransmit)
          .needed()};
  static constexpr ModelMessage kMessage{"State.Traffic.FlowTransmit", kRows};
  return kMessage;
}

const ModelMessage& TrafficState::message() {
  using Row = ModelRowOf<TrafficState>;
  static constexpr Field kRows[] = {
      Row::of<&TrafficState::choice>("choice", "what is set").among(kTrafficStates).needed(),
      Row::of<&TrafficState::flow_transmit>("flow_transmit", "flows")};
  static constexpr ModelMessage kMessage{"State.Traffic", kRows};
  return kMessage;
}

const ModelMessage& ControlState::message() {
  using Row = ModelRowOf<ControlState>;
  static constexpr Field kRows[] = {
      Row::of<&ControlState::choice>("choice", "what is set").among(kStates).needed(),
      Row::of<&ControlState::port>("port", "ports"),
      Row::of<&ControlState::protocol>("protocol", "protocols"),
      Row::of<&ControlState::traffic>("traffic", "traffic")};
  static constexpr ModelMessage kMessage{"Control.State", kRows};
  return kMessage;
}

const ModelMessage& AppendResources::message() {
  using Row = ModelRowOf<AppendResources>;
  static constexpr Field kRows[] = {
      Row::of<&AppendResources::choice>("choice", "what is added").among(kResources).needed(),
      Row::of<&AppendResources::flows>("flows", "flows of packets, which are stopped")};
  static constexpr ModelMessage kMessage{"Config.AppendResources", kRows};
  return kMessage;
}

const ModelMessage& ConfigAppend::message() {
  using Row = ModelRowOf<ConfigAppend>;
  static constexpr Field kRows[] = {
      Row::of<&ConfigAppend::resources>(kAppendList, "the body, or this field of an object")
          .needed()};
  static constexpr ModelMessage kMessage{"Config.Append", kRows};
  return kMessage;
}

const ModelMessage& DeleteResources::message() {
  using Row = ModelRowOf<DeleteResources>;
  static constexpr Field kRows[] = {
      Row::of<&DeleteResources::choice>("choice", "what is removed").among(kResources).needed(),
      Row::of<&DeleteResources::flows>("flows", "names of flows of packets")};
  static constexpr ModelMessage kMessage{"Config.DeleteResources", kRows};
  return kMessage;
}

const ModelMessage& ConfigDelete::message() {
  using Row = ModelRowOf<ConfigDelete>;
  static constexpr Field kRows[] = {
      Row::of<&ConfigDelete::resources>(kDeleteList, "the body, or this field of an object")
          .needed()};
  static constexpr ModelMessage kMessage{"Config.Delete", kRows};
  return kMessage;
}

const ModelMessage& ControlAction::message() {
  using Row = ModelRowOf<ControlAction>;
  static constexpr Field kRows[] = {
      Row::refused("choice", "there are no actions"),
      Row::refused("protocol", "devices send no pings; they answer them"),
      Row::refused("port", "POST /config opens ports anew")};
  static constexpr ModelMessage kMessage{"Control.Action", kRows};
  return kMessage;
}

const ModelMessage& PortMetricsRequest::message() {
  using Row = ModelRowOf<PortMetricsRequest>;
  static constexpr Field kRows[] = {
      Row::of<&PortMetricsRequest::port_names>("port_names", kPortNames),
      Row::of<&PortMetricsRequest::column_names>("column_names", kColumns).among(kPortColumns)};
  static constexpr ModelMessage kMessage{"Port.Metrics.Request", kRows};
  return kMessage;
}

namespace {

using PeerRow = ModelRowOf<PeerColumns>;
constexpr Field kPeerRows[] = {
    PeerRow::of<&PeerColumns::peer_names>("peer_names", "peers; none: all"),
    PeerRow::of<&PeerColumns::column_names>("column_names", kColumns).among(kPeerColumns)};
constexpr string_view kPerPeerMeaning = "rows of peers";

}  // namespace

const ModelMessage& PeerColumns::of_ipv4() {
  static constexpr ModelMessage kMessage{"Rocev2IPv4.ColumnNames", kPeerRows};
  return kMessage;
}

const ModelMessage& PeerColumns::of_ipv6() {
  static constexpr ModelMessage kMessage{"Rocev2IPv6.ColumnNames", kPeerRows};
  return kMessage;
}

const ModelMessage& PeerMetricsRequest::of_ipv4() {
  using Row = ModelRowOf<PeerMetricsRequest>;
  static constexpr Field kRows[] = {
      Row::of<&PeerMetricsRequest::choice>("choice", kPerPeerMeaning)
          .among(kPerPeer)
          .standard("per_peer"),
      Row::with<&PeerMetricsRequest::per_peer, &PeerColumns::of_ipv4>("per_peer", kPerPeerMeaning)};
  static constexpr ModelMessage kMessage{"Rocev2IPv4.Metrics.Request", kRows};
  return kMessage;
}

const ModelMessage& PeerMetricsRequest::of_ipv6() {
  using Row = ModelRowOf<PeerMetricsRequest>;
  static constexpr Field kRows[] = {
      Row::of<&PeerMetricsRequest::choice>("choice", kPerPeerMeaning)
          .among(kPerPeer)
          .standard("per_peer"),
      Row::with<&PeerMetricsRequest::per_peer, &PeerColumns::of_ipv6>("per_peer", kPerPeerMeaning)};
  static constexpr ModelMessage kMessage{"Rocev2IPv6.Metrics.Request", kRows};
  return kMessage;
}

const ModelMessage& QpColumns::message() {
  using Row = ModelRowOf<QpColumns>;
  static constexpr Field kRows[] = {
      Row::of<&QpColumns::column_names>("column_names", kColumns).among(kQpColumns)};
  static constexpr ModelMessage kMessage{"Rocev2Flow.ColumnNames", kRows};
  return kMessage;
}

const ModelMessage& QpMetricsRequest::message() {
  using Row = ModelRowOf<QpMetricsRequest>;
  static constexpr Field kRows[] = {
      Row::of<&QpMetricsRequest::choice>("choice", "rows of QPs").among(kPerQp).standard("per_qp"),
      Row::of<&QpMetricsRequest::per_qp>("per_qp", "rows of QPs")};
  static constexpr ModelMessage kMessage{"Rocev2Flow.Metrics.Request", kRows};
  return kMessage;
}

const ModelMessage& FlowMetricsRequest::message() {
  using Row = ModelRowOf<FlowMetricsRequest>;
  static constexpr Field kRows[] = {
      Row::of<&FlowMetricsRequest::flow_names>("flow_names", "flows; none: all"),
      Row::of<&FlowMetricsRequest::metric_names>("metric_names", kColumns).among(kFlowColumns),
      Row::refused("tagged_metrics", "a flow is counted as a whole")};
  static constexpr ModelMessage kMessage{"Flow.Metrics.Request", kRows};
  return kMessage;
}

const ModelMessage& MetricsRequest::message() {
  using Row = ModelRowOf<MetricsRequest>;
  static constexpr Field kRows[] = {
      Row::of<&MetricsRequest::choice>("choice", "whose metrics").among(kMetrics).standard("port"),
      Row::of<&MetricsRequest::port>("port", "of ports"),
      Row::of<&MetricsRequest::flow>("flow", "of flows whose metrics are enabled"),
      Row::refused("bgpv4", kNoProtocol),
      Row::refused("bgpv6", kNoProtocol),
      Row::refused("isis", kNoProtocol),
      Row::refused("lag", kNoProtocol),
      Row::refused("lacp", kNoProtocol),
      Row::refused("lldp", kNoProtocol),
      Row::refused("rsvp", kNoProtocol),
      Row::refused("dhcpv4_client", kNoProtocol),
      Row::refused("dhcpv4_server", kNoProtocol),
      Row::refused("dhcpv6_client", kNoProtocol),
      Row::refused("dhcpv6_server", kNoProtocol),
      Row::refused("ospfv2", kNoProtocol),
      Row::refused("convergence", kNoProtocol),
      Row::refused("macsec", kNoProtocol),
      Row::refused("mka", kNoProtocol),
      Row::refused("ospfv3", kNoProtocol),
      Row::with<&MetricsRequest::rocev2_ipv4, &PeerMetricsRequest::of_ipv4>("rocev2_ipv4",
                                                                            "of IPv4 peers"),
      Row::with<&MetricsRequest::rocev2_ipv6, &PeerMetricsRequest::of_ipv6>("rocev2_ipv6",
                                                                            "of IPv6 peers"),
      Row::of<&MetricsRequest::rocev2_flow>("rocev2_flow", "of QPs"),
      Row::refused("egress_only_tracking", "packets are not sorted by their fields"),
      Row::refused("bmp_server", kNoProtocol)};
  static constexpr ModelMessage kMessage{"Metrics.Request", kRows};
  return kMessage;
}

namespace {

using NeighboursRow = ModelRowOf<NeighborsRequest>;
constexpr Field kNeighboursRows[] = {NeighboursRow::of<&NeighborsRequest::ethernet_names>(
    "ethernet_names", "interfaces; none: all")};

}  // namespace

const ModelMessage& NeighborsRequest::of_ipv4() {
  static constexpr ModelMessage kMessage{"Neighborsv4.States.Request", kNeighboursRows};
  return kMessage;
}

const ModelMessage& NeighborsRequest::of_ipv6() {
  static constexpr ModelMessage kMessage{"Neighborsv6.States.Request", kNeighboursRows};
  return kMessage;
}

const ModelMessage& StatesRequest::message() {
  using Row = ModelRowOf<StatesRequest>;
  static constexpr Field kRows[] = {
      Row::of<&StatesRequest::choice>("choice", "what is asked")
          .among(kNeighbours)
          .standard("ipv4_neighbors"),
      Row::with<&StatesRequest::ipv4_neighbors, &NeighborsRequest::of_ipv4>(
          "ipv4_neighbors", "MAC addresses that ARP found"),
      Row::with<&StatesRequest::ipv6_neighbors, &NeighborsRequest::of_ipv6>(
          "ipv6_neighbors", "MAC addresses that neighbour discovery found"),
      Row::refused("bgp_prefixes", kNoProtocol),
      Row::refused("isis_lsps", kNoProtocol),
      Row::refused("lldp_neighbors", kNoProtocol),
      Row::refused("rsvp_lsps", kNoProtocol),
      Row::refused("dhcpv4_interfaces", kNoProtocol),
      Row::refused("dhcpv4_leases", kNoProtocol),
      Row::refused("dhcpv6_interfaces", kNoProtocol),
      Row::refused("dhcpv6_leases", kNoProtocol),
      Row::refused("ospfv2_lsas", kNoProtocol),
      Row::refused("ospfv3_lsas", kNoProtocol),
      Row::refused("isis_adjacencies", kNoProtocol),
      Row::refused("bmp_servers", kNoProtocol)};
  static constexpr ModelMessage kMessage{"States.Request", kRows};
  return kMessage;
}

const ModelMessage& CaptureRequest::message() {
  using Row = ModelRowOf<CaptureRequest>;
  static constexpr Field kRows[] = {
      Row::of<&CaptureRequest::port_name>("port_name", "port whose capture is asked for").needed(),
      Row::refused("packets", "the capture comes as a whole")};
  static constexpr ModelMessage kMessage{"Capture.Request", kRows};
  return kMessage;
}

namespace {

void add_message(const ModelMessage& message, std::vector<const ModelMessage*>& all) {
  if (std::ranges::find(all, &message) != all.end()) return;
  all.push_back(&message);
  for (const Field& field : message.fields)
    if (field.message != nullptr) add_message(field.message(), all);
}

}  // namespace

std::vector<const ModelMessage*> all_messages() {
  std::vector<const ModelMessage*> all;
  for (const ModelMessage* first :
       {&Config::message(), &ConfigAppend::message(), &ConfigDelete::message(),
        &ControlState::message(), &ControlAction::message(), &MetricsRequest::message(),
        &StatesRequest::message(), &CaptureRequest::message()})
    add_message(*first, all);
  return all;
}

}  // namespace lw::gen::otg
