// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "gen/otg/pattern.h"

/// The messages of flows: frames of any headers, their sizes, rates, durations and metrics. See
/// model.h.
namespace lw::gen::otg {

struct FlowPort {
  std::string path, tx_name, rx_name;
  std::vector<std::string> rx_names;
  static const ModelMessage& message();
};
struct FlowRouter {
  std::string path, mode;
  std::vector<std::string> tx_names, rx_names;
  static const ModelMessage& message();
};
struct FlowTxRx {
  std::string choice;
  FlowPort port;
  FlowRouter device;
  static const ModelMessage& message();
};

/// A header of bytes: "0a 0b", as digits in hexadecimal.
struct CustomHeader {
  std::string path, bytes;
  static const ModelMessage& message();
};

/// A checksum that is right, wrong, or a given value.
struct ChecksumField {
  std::string choice, generated;
  std::uint64_t custom = 0;
  static const ModelMessage& of_ipv4();
  static const ModelMessage& of_udp();
};

struct SimpleHeader {
  Patterns fields;
  static const ModelMessage& of_ethernet();
  static const ModelMessage& of_vlan();
  static const ModelMessage& of_ipv6();
  static const ModelMessage& of_tos();
  static const ModelMessage& of_dscp();
};
struct UdpHeader {
  Patterns fields;
  std::optional<ChecksumField> checksum;
  static const ModelMessage& message();
};
struct PriorityField {
  std::string choice;
  Patterns raw;
  SimpleHeader tos, dscp;
  static const ModelMessage& message();
};
struct Ipv4Header {
  Patterns fields;
  std::optional<PriorityField> priority;
  ChecksumField checksum;
  static const ModelMessage& message();
};

struct FlowHeader {
  std::string path, choice;
  CustomHeader custom;
  SimpleHeader ethernet, vlan, ipv6;
  Ipv4Header ipv4;
  UdpHeader udp;
  static const ModelMessage& message();
};

struct SizeIncrement {
  std::string path;
  std::uint64_t start = 0, end = 0, step = 0;
  static const ModelMessage& message();
};
struct SizeRandom {
  std::string path;
  std::uint64_t min = 0, max = 0;
  static const ModelMessage& message();
};
struct SizeWeight {
  std::uint64_t size = 0;
  double weight = 0;
  static const ModelMessage& message();
};
struct SizeWeights {
  std::string path, choice, predefined;
  std::vector<SizeWeight> custom;
  static const ModelMessage& message();
};
/// Bytes of a frame, with FCS.
struct FlowSize {
  std::string path, choice;
  std::uint64_t fixed = 0;
  SizeIncrement increment;
  SizeRandom random;
  SizeWeights weight_pairs;
  static const ModelMessage& message();
};

struct FlowRate {
  std::string path, choice;
  std::uint64_t pps = 0, bps = 0, kbps = 0, mbps = 0, gbps = 0;
  double percentage = 0;
  static const ModelMessage& message();
};

/// A time: bytes at the line rate, ns or us.
struct FlowTime {
  std::string path, choice;
  double bytes = 0, nanoseconds = 0, microseconds = 0;
  static const ModelMessage& of_delay();
  static const ModelMessage& of_gap();
};
struct FixedPackets {
  std::uint64_t packets = 0;
  FlowTime delay;
  static const ModelMessage& message();
};
struct FixedSeconds {
  double seconds = 0;
  FlowTime delay;
  static const ModelMessage& message();
};
struct FlowBursts {
  std::uint64_t bursts = 0, packets = 0;
  FlowTime inter_burst_gap;
  static const ModelMessage& message();
};
struct FlowContinuous {
  FlowTime delay;
  static const ModelMessage& message();
};
struct FlowDuration {
  std::string choice;
  FixedPackets fixed_packets;
  FixedSeconds fixed_seconds;
  FlowBursts burst;
  FlowContinuous continuous;
  static const ModelMessage& message();
};

struct LatencyMetrics {
  std::string path;
  bool enable = false;
  static const ModelMessage& message();
};
struct FlowMetricsWanted {
  bool enable = false, loss = false, timestamps = false;
  LatencyMetrics latency;
  static const ModelMessage& message();
};

struct FixedPayload {
  std::string path, pattern;
  bool repeat = true;
  static const ModelMessage& message();
};
struct FlowPayload {
  std::string choice;
  FixedPayload fixed;
  static const ModelMessage& message();
};

struct FlowMessage {
  std::string path, name;
  FlowTxRx tx_rx;
  std::vector<FlowHeader> packet;
  FlowSize size;
  FlowRate rate;
  FlowDuration duration;
  FlowMetricsWanted metrics;
  std::optional<FlowPayload> payload;
  static const ModelMessage& message();
};

}  // namespace lw::gen::otg
