// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/otg/model_flow.h"

/// The messages of requests to a running configuration, each with its rows: see field.h. An empty
/// list of names means all.
namespace lw::gen::otg {

struct PortLinkState {
  std::vector<std::string> port_names;
  std::string state;  // up, down
  static const ModelMessage& message();
};
struct PortCaptureState {
  std::vector<std::string> port_names;
  std::string state;  // start, stop
  static const ModelMessage& message();
};
struct PortState {
  std::string choice;
  PortLinkState link;
  PortCaptureState capture;
  static const ModelMessage& message();
};

struct AllProtocolsState {
  std::string state;  // start, stop
  static const ModelMessage& message();
};
struct PeersState {
  std::vector<std::string> peer_names;
  std::string state;  // up, down
  static const ModelMessage& message();
};
struct RoceState {
  std::string choice;
  PeersState peers;
  static const ModelMessage& message();
};
struct ProtocolState {
  std::string choice;
  AllProtocolsState all;
  RoceState rocev2;
  static const ModelMessage& message();
};

struct FlowTransmit {
  std::vector<std::string> flow_names;
  std::string state;  // start, stop, pause, resume
  static const ModelMessage& message();
};
struct TrafficState {
  std::string choice;
  FlowTransmit flow_transmit;
  static const ModelMessage& message();
};

struct ControlState {
  std::string choice;
  PortState port;
  ProtocolState protocol;
  TrafficState traffic;
  static const ModelMessage& message();
};

/// Names of the lists in the protocol buffers of the model.
inline constexpr const char *kAppendList = "config_append_list",
                            *kDeleteList = "config_delete_list";

/// Flows that PATCH /config/append adds. The body is the list itself.
struct AppendResources {
  std::string choice;
  std::vector<FlowMessage> flows;
  static const ModelMessage& message();
};
struct ConfigAppend {
  std::vector<AppendResources> resources;
  static const ModelMessage& message();
};
/// Names of flows that PATCH /config/delete removes. The body is the list itself.
struct DeleteResources {
  std::string choice;
  std::vector<std::string> flows;
  static const ModelMessage& message();
};
struct ConfigDelete {
  std::vector<DeleteResources> resources;
  static const ModelMessage& message();
};

/// Ports, pings: nothing of it is supported.
struct ControlAction {
  static const ModelMessage& message();
};

struct PortMetricsRequest {
  std::vector<std::string> port_names, column_names;
  static const ModelMessage& message();
};
struct PeerColumns {
  std::vector<std::string> peer_names, column_names;
  static const ModelMessage& of_ipv4();
  static const ModelMessage& of_ipv6();
};
struct PeerMetricsRequest {
  std::string choice;
  PeerColumns per_peer;
  static const ModelMessage& of_ipv4();
  static const ModelMessage& of_ipv6();
};
struct QpColumns {
  std::vector<std::string> column_names;
  static const ModelMessage& message();
};
struct QpMetricsRequest {
  std::string choice;
  QpColumns per_qp;
  static const ModelMessage& message();
};
struct FlowMetricsRequest {
  std::vector<std::string> flow_names, metric_names;
  static const ModelMessage& message();
};
struct MetricsRequest {
  std::string choice;
  PortMetricsRequest port;
  FlowMetricsRequest flow;
  PeerMetricsRequest rocev2_ipv4, rocev2_ipv6;
  QpMetricsRequest rocev2_flow;
  static const ModelMessage& message();
};

struct NeighborsRequest {
  std::vector<std::string> ethernet_names;
  static const ModelMessage& of_ipv4();
  static const ModelMessage& of_ipv6();
};
struct StatesRequest {
  std::string choice;
  NeighborsRequest ipv4_neighbors, ipv6_neighbors;
  static const ModelMessage& message();
};

struct CaptureRequest {
  std::string port_name;
  static const ModelMessage& message();
};

/// The messages that clients send, each with all that is in it, once each.
std::vector<const ModelMessage*> all_messages();

}  // namespace lw::gen::otg
