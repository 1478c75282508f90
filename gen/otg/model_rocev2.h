// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/otg/field.h"

/// The messages of RoCEv2 in a configuration: see model.h.
namespace lw::gen::otg {

/// ECN field of an IP header: the values are those of the header.
enum class Ecn : std::uint8_t { non_ect, ect_1, ect_0, ce };

struct QpParameters {
  std::string path;
  std::uint64_t source_qp_number = 0, dscp = 0, udp_source_port = 0, initial_psn = 0;
  Ecn ecn{};
  Hex virtual_address, remote_key;
  static const ModelMessage& message();
};

struct ConnectionType {
  std::string choice;
  QpParameters reliable_connection;
  static const ModelMessage& message();
};

struct QpMessage {
  std::string path, qp_name;
  ConnectionType connection_type;
  static const ModelMessage& message();
};

struct V4Peer {
  std::string path, name;
  wire::Ipv4Address destination_ip_address;
  std::vector<QpMessage> qps;
  static const ModelMessage& message();
};

struct V6Peer {
  std::string path, name;
  wire::Ipv6Address destination_ip_address;
  std::vector<QpMessage> qps;
  static const ModelMessage& message();
};

struct V4Interface {
  std::string path, ipv4_name;
  std::uint64_t ib_mtu = 0;
  std::vector<V4Peer> peers;
  static const ModelMessage& message();
};

struct V6Interface {
  std::string path, ipv6_name;
  std::uint64_t ib_mtu = 0;
  std::vector<V6Peer> peers;
  static const ModelMessage& message();
};

struct RocePeers {
  std::vector<V4Interface> ipv4_interfaces;
  std::vector<V6Interface> ipv6_interfaces;
  static const ModelMessage& message();
};

struct ImmediateData {
  Hex immediate_data;
  static const ModelMessage& message();
};

struct Verb {
  std::string choice;
  ImmediateData write_with_immediate, send_with_immediate;
  static const ModelMessage& message();
};

struct RoceFlow {
  std::string path, name, tx_endpoint, rx_endpoint;
  Verb rocev2_verb;
  std::uint64_t message_size = 0;
  std::string message_size_unit;
  static const ModelMessage& message();
};

struct TargetLineRate {
  std::string path;
  std::uint64_t value = 0;  // percent
  std::vector<RoceFlow> flows;
  static const ModelMessage& message();
};

struct TransmitType {
  std::string choice;
  TargetLineRate target_line_rate;
  static const ModelMessage& message();
};

struct TxPort {
  std::string path, port_name;
  TransmitType transmit_type;
  static const ModelMessage& message();
};

struct RoceFlows {
  std::vector<TxPort> tx_ports;
  static const ModelMessage& message();
};

struct StatefulFlow {
  std::vector<RoceFlows> rocev2;
  std::string choice;
  static const ModelMessage& message();
};

struct PriorityValue {
  std::uint64_t value = 0;
  static const ModelMessage& message();
};

/// DSCP and ECN of ACKs, of NAKs, or of CNPs.
struct Marks {
  std::string choice;
  PriorityValue ip_dscp;
  Ecn ecn_value{};
};

struct AckMarks : Marks {
  static const ModelMessage& message();
};

struct NakMarks : Marks {
  static const ModelMessage& message();
};

struct CnpSettings : Marks {
  std::uint64_t cnp_delay_timer = 0;  // us
  static const ModelMessage& message();
};

struct AckAndNak {
  AckMarks ack;
  NakMarks nak;
  bool enable_retransmission_timeout = false;
  std::uint64_t retransmission_timeout_value = 0;  // ms
  std::uint64_t retransmission_retry_count = 0;
  static const ModelMessage& message();
};

struct QpConnectionType {
  std::string choice;
  AckAndNak reliable_connection;
  static const ModelMessage& message();
};

/// Times in us; rates in percent of the port's line rate.
struct DcqcnSettings {
  bool enable_dcqcn = false, clamp_target_rate = false;
  std::uint64_t alpha_g = 0, initial_alpha = 0, alpha_update_period = 0;
  std::uint64_t rate_reduction_time_period = 0, maximum_rate_decrement_at_time = 0;
  std::uint64_t rate_increment_time = 0, rate_increment_byte_counter = 0;
  std::uint64_t rate_increment_threshold = 0;
  double initial_rate_after_first_cnp = 0, minimum_rate_limmit = 0;
  double additive_increment_rate = 0, hyper_increment_rate = 0;
  static const ModelMessage& message();
};

struct PerPortRoce {
  CnpSettings cnp;
  QpConnectionType connection_type;
  DcqcnSettings dcqcn_settings;
  static const ModelMessage& message();
};

}  // namespace lw::gen::otg
