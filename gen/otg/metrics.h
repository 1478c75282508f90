// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/figure.h"

/// The rows of /monitor/metrics and /monitor/states, with the names and units of the model. An
/// optional is left out where its value is not known here.
namespace lw::gen::otg {

struct PortMetric {
  std::string name, location, link, capture, transmit;
  std::uint64_t frames_tx = 0, frames_rx = 0, bytes_tx = 0, bytes_rx = 0;
  double frames_tx_rate = 0, frames_rx_rate = 0, bytes_tx_rate = 0, bytes_rx_rate = 0;
  std::uint64_t last_change = 0;
  std::optional<std::uint64_t> speed = {};
  static const FigureTable& figures();
};

struct PeerMetric {
  std::string name;
  std::uint64_t qp_configured = 0, qp_up = 0, qp_down = 0;
  std::uint64_t connect_request_tx = 0, connect_request_rx = 0;
  std::uint64_t connect_reply_tx = 0, connect_reply_rx = 0;
  std::uint64_t ready_tx = 0, ready_rx = 0;
  std::uint64_t disconnect_request_tx = 0, disconnect_request_rx = 0;
  std::uint64_t disconnect_reply_tx = 0, disconnect_reply_rx = 0;
  // The model has a column reject_rx, too, but its row has no such field.
  std::uint64_t reject_tx = 0, unknown_msg_rx = 0;
  static const FigureTable& figures();
};

struct QpMetric {
  std::string flow_name;
  std::optional<std::string> port_tx = {}, port_rx = {};
  std::optional<std::uint64_t> src_qp = {}, dest_qp = {};
  std::string src_ipv4 = {}, dest_ipv4 = {};
  std::optional<std::uint64_t> data_frames_tx = {}, data_frames_rx = {}, frame_delta = {};
  std::optional<std::uint64_t> data_frames_retransmitted = {}, frame_sequence_error = {};
  std::optional<std::uint64_t> tx_bytes = {}, rx_bytes = {};
  std::optional<double> data_tx_rate = {}, data_rx_rate = {};
  std::optional<std::uint64_t> message_tx = {}, message_complete_rx = {}, message_fail = {};
  std::optional<std::uint64_t> flow_completion_time = {}, avg_latency = {}, min_latency = {},
                               max_latency = {};
  std::optional<std::uint64_t> ecn_ce_rx = {}, cnp_tx = {}, cnp_rx = {}, ack_tx = {}, ack_rx = {},
                               nak_tx = {}, nak_rx = {};
  std::optional<std::string> first_timestamp = {}, last_timestamp = {};
  static const FigureTable& figures();
};

struct FlowLatency {
  double minimum_ns = 0, maximum_ns = 0, average_ns = 0;
  static const FigureTable& figures();
};
struct FlowTimestamps {
  double first_timestamp_ns = 0, last_timestamp_ns = 0;
  static const FigureTable& figures();
};

/// Bytes are with FCS; rates in bits are on the wire for `l1`, else of frames.
struct FlowMetric {
  std::string name, port_tx;
  std::optional<std::string> port_rx = {};
  std::string transmit;
  std::uint64_t frames_tx = 0, frames_rx = 0, bytes_tx = 0, bytes_rx = 0;
  double frames_tx_rate = 0, frames_rx_rate = 0;
  std::optional<double> loss = {};
  std::optional<FlowTimestamps> timestamps = {};
  std::optional<FlowLatency> latency = {};
  double tx_l1_rate_bps = 0, rx_l1_rate_bps = 0;
  double tx_rate_bytes = 0, rx_rate_bytes = 0, tx_rate_bps = 0, rx_rate_bps = 0;
  double tx_rate_kbps = 0, rx_rate_kbps = 0, tx_rate_mbps = 0, rx_rate_mbps = 0;
  static const FigureTable& figures();
};

struct NeighbourRow {
  std::string ethernet_name;
  std::optional<std::string> ipv4_address = {}, ipv6_address = {};
  std::string link_layer_address;
  static const FigureTable& figures();
};

}  // namespace lw::gen::otg
