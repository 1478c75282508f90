// SPDX-License-Identifier: BSD-3-Clause
#include "gen/otg/metrics.h"

namespace lw::gen::otg {

const FigureTable& PortMetric::figures() {
  using Row = FigureOf<PortMetric>;
  static constexpr Figure kRows[] = {
      Row::of<&PortMetric::name>("name", "Name of the port."),
      Row::of<&PortMetric::location>("location", "Its location."),
      Row::of<&PortMetric::link>("link", "up or down."),
      Row::of<&PortMetric::capture>("capture", "started or stopped."),
      Row::of<&PortMetric::transmit>("transmit", "started while a flow of the port runs."),
      Row::of<&PortMetric::frames_tx>("frames_tx", "Frames sent.", Unit::frames),
      Row::of<&PortMetric::frames_rx>("frames_rx", "Frames received.", Unit::frames),
      Row::of<&PortMetric::bytes_tx>("bytes_tx", "Their bytes, with FCS.", Unit::bytes),
      Row::of<&PortMetric::bytes_rx>("bytes_rx", "Their bytes, with FCS.", Unit::bytes),
      Row::of<&PortMetric::frames_tx_rate>("frames_tx_rate", "Frames per second, of 500 ms."),
      Row::of<&PortMetric::frames_rx_rate>("frames_rx_rate", "Frames per second, of 500 ms."),
      Row::of<&PortMetric::bytes_tx_rate>("bytes_tx_rate", "Bytes per second, of 500 ms."),
      Row::of<&PortMetric::bytes_rx_rate>("bytes_rx_rate", "Bytes per second, of 500 ms."),
      Row::of<&PortMetric::last_change>(
          "last_change", "When the link changed, since 1970; or the start.", Unit::ns),
      Row::of<&PortMetric::speed>("speed", "Line rate in kilobytes per second, if it is known.")};
  static constexpr FigureTable kTable{"A port.", kRows};
  return kTable;
}

const FigureTable& PeerMetric::figures() {
  using Row = FigureOf<PeerMetric>;
  static constexpr Figure kRows[] = {
      Row::of<&PeerMetric::name>("name", "Name of the peer."),
      Row::of<&PeerMetric::qp_configured>("qp_configured", "QPs of the peer."),
      Row::of<&PeerMetric::qp_up>("qp_up", "QPs that are connected."),
      Row::of<&PeerMetric::qp_down>("qp_down", "QPs that are not, or that failed."),
      Row::of<&PeerMetric::connect_request_tx>("connect_request_tx", "ConnectRequests sent."),
      Row::of<&PeerMetric::connect_request_rx>("connect_request_rx", "ConnectRequests received."),
      Row::of<&PeerMetric::connect_reply_tx>("connect_reply_tx", "ConnectReplies sent."),
      Row::of<&PeerMetric::connect_reply_rx>("connect_reply_rx", "ConnectReplies received."),
      Row::of<&PeerMetric::ready_tx>("ready_tx", "ReadyToUses sent."),
      Row::of<&PeerMetric::ready_rx>("ready_rx", "ReadyToUses received."),
      Row::of<&PeerMetric::disconnect_request_tx>("disconnect_request_tx",
                                                  "DisconnectRequests sent."),
      Row::of<&PeerMetric::disconnect_request_rx>("disconnect_request_rx",
                                                  "DisconnectRequests received."),
      Row::of<&PeerMetric::disconnect_reply_tx>("disconnect_reply_tx", "DisconnectReplies sent."),
      Row::of<&PeerMetric::disconnect_reply_rx>("disconnect_reply_rx",
                                                "DisconnectReplies received."),
      Row::of<&PeerMetric::reject_tx>("reject_tx", "ConnectRejects sent."),
      Row::of<&PeerMetric::unknown_msg_rx>("unknown_msg_rx",
                                           "Messages that belong to no QP of the peer.")};
  static constexpr FigureTable kTable{"A peer.", kRows};
  return kTable;
}

const FigureTable& QpMetric::figures() {
  using Row = FigureOf<QpMetric>;
  static constexpr Figure kRows[] = {
      Row::of<&QpMetric::flow_name>("flow_name", "Names of the QP's flows, joined by \"+\"."),
      Row::of<&QpMetric::port_tx>("port_tx", "Port of the QP that sends."),
      Row::of<&QpMetric::port_rx>("port_rx", "Port of the QP that receives."),
      Row::of<&QpMetric::src_qp>("src_qp", "Number of the QP that sends."),
      Row::of<&QpMetric::dest_qp>("dest_qp", "Number of the QP that receives."),
      Row::of<&QpMetric::src_ipv4>("src_ipv4", "Its address, IPv4 or IPv6."),
      Row::of<&QpMetric::dest_ipv4>("dest_ipv4", "Address of the other one."),
      Row::of<&QpMetric::data_frames_tx>("data_frames_tx",
                                         "Frames with the messages' bytes, retransmissions "
                                         "included.",
                                         Unit::frames),
      Row::of<&QpMetric::data_frames_rx>("data_frames_rx", "Those that arrived.", Unit::frames),
      Row::of<&QpMetric::frame_delta>("frame_delta", "Those that did not.", Unit::frames),
      Row::of<&QpMetric::data_frames_retransmitted>(
          "data_frames_retransmitted", "Request packets that were retransmitted.", Unit::frames),
      Row::of<&QpMetric::frame_sequence_error>("frame_sequence_error", "Packets out of sequence.",
                                               Unit::frames),
      Row::of<&QpMetric::tx_bytes>("tx_bytes", "Bytes of data_frames_tx, without FCS.",
                                   Unit::bytes),
      Row::of<&QpMetric::rx_bytes>("rx_bytes", "Bytes of data_frames_rx, without FCS.",
                                   Unit::bytes),
      Row::of<&QpMetric::data_tx_rate>("data_tx_rate", "Rate of tx_bytes, of 500 ms.", Unit::gbps),
      Row::of<&QpMetric::data_rx_rate>("data_rx_rate", "Rate of rx_bytes, of 500 ms.", Unit::gbps),
      Row::of<&QpMetric::message_tx>("message_tx", "Messages posted."),
      Row::of<&QpMetric::message_complete_rx>("message_complete_rx", "Messages that came whole."),
      Row::of<&QpMetric::message_fail>("message_fail", "Messages that failed with their QP."),
      Row::of<&QpMetric::flow_completion_time>("flow_completion_time",
                                               "From the start to the latest completion, in ms."),
      Row::of<&QpMetric::avg_latency>("avg_latency", "Mean latency of the data frames.", Unit::ns),
      Row::of<&QpMetric::min_latency>("min_latency", "Least latency.", Unit::ns),
      Row::of<&QpMetric::max_latency>("max_latency", "Longest latency.", Unit::ns),
      Row::of<&QpMetric::ecn_ce_rx>("ecn_ce_rx", "Frames received with ECN CE.", Unit::frames),
      Row::of<&QpMetric::cnp_tx>("cnp_tx", "CNPs that the receiver sent.", Unit::frames),
      Row::of<&QpMetric::cnp_rx>("cnp_rx", "CNPs that the sender received.", Unit::frames),
      Row::of<&QpMetric::ack_tx>("ack_tx", "ACKs that the receiver sent.", Unit::frames),
      Row::of<&QpMetric::ack_rx>("ack_rx", "ACKs that the sender received.", Unit::frames),
      Row::of<&QpMetric::nak_tx>("nak_tx", "NAKs that the receiver sent.", Unit::frames),
      Row::of<&QpMetric::nak_rx>("nak_rx", "NAKs that the sender received.", Unit::frames),
      Row::of<&QpMetric::first_timestamp>("first_timestamp",
                                          "Arrival of the first data frame, UTC."),
      Row::of<&QpMetric::last_timestamp>("last_timestamp", "Arrival of the last data frame, UTC.")};
  static constexpr FigureTable kTable{"A QP with flows, and the QP that it is connected to.",
                                      kRows};
  return kTable;
}

const FigureTable& FlowLatency::figures() {
  using Row = FigureOf<FlowLatency>;
  static constexpr Figure kRows[] = {
      Row::of<&FlowLatency::minimum_ns>("minimum_ns", "Least latency.", Unit::ns),
      Row::of<&FlowLatency::maximum_ns>("maximum_ns", "Longest latency.", Unit::ns),
      Row::of<&FlowLatency::average_ns>("average_ns", "Mean latency.", Unit::ns)};
  static constexpr FigureTable kTable{"Latency of a flow's frames.", kRows};
  return kTable;
}

const FigureTable& FlowTimestamps::figures() {
  using Row = FigureOf<FlowTimestamps>;
  static constexpr Figure kRows[] = {
      Row::of<&FlowTimestamps::first_timestamp_ns>(
          "first_timestamp_ns", "Arrival of the first frame, since 1970.", Unit::ns),
      Row::of<&FlowTimestamps::last_timestamp_ns>(
          "last_timestamp_ns", "Arrival of the last frame, since 1970.", Unit::ns)};
  static constexpr FigureTable kTable{"When a flow's frames arrived.", kRows};
  return kTable;
}

const FigureTable& FlowMetric::figures() {
  using Row = FigureOf<FlowMetric>;
  static constexpr Figure kRows[] = {
      Row::of<&FlowMetric::name>("name", "Name of the flow."),
      Row::of<&FlowMetric::port_tx>("port_tx", "Port that sends."),
      Row::of<&FlowMetric::port_rx>("port_rx", "Port that receives, if it is one."),
      Row::of<&FlowMetric::transmit>("transmit", "started, stopped or paused."),
      Row::of<&FlowMetric::frames_tx>("frames_tx", "Frames sent.", Unit::frames),
      Row::of<&FlowMetric::frames_rx>("frames_rx", "Frames received.", Unit::frames),
      Row::of<&FlowMetric::bytes_tx>("bytes_tx", "Their bytes, with FCS.", Unit::bytes),
      Row::of<&FlowMetric::bytes_rx>("bytes_rx", "Their bytes, with FCS.", Unit::bytes),
      Row::of<&FlowMetric::frames_tx_rate>("frames_tx_rate", "Frames per second, of 500 ms."),
      Row::of<&FlowMetric::frames_rx_rate>("frames_rx_rate", "Frames per second, of 500 ms."),
      Row::of<&FlowMetric::loss>("loss", "Frames sent that have not arrived, in percent."),
      Row::of<&FlowMetric::timestamps>("timestamps", "When frames arrived."),
      Row::of<&FlowMetric::latency>("latency", "Latency of the frames."),
      Row::of<&FlowMetric::tx_l1_rate_bps>("tx_l1_rate_bps",
                                           "Bits per second with preamble, gap and FCS."),
      Row::of<&FlowMetric::rx_l1_rate_bps>("rx_l1_rate_bps",
                                           "Bits per second with preamble, gap and FCS."),
      Row::of<&FlowMetric::tx_rate_bytes>("tx_rate_bytes", "Bytes of frames per second."),
      Row::of<&FlowMetric::rx_rate_bytes>("rx_rate_bytes", "Bytes of frames per second."),
      Row::of<&FlowMetric::tx_rate_bps>("tx_rate_bps", "Bits of frames per second."),
      Row::of<&FlowMetric::rx_rate_bps>("rx_rate_bps", "Bits of frames per second."),
      Row::of<&FlowMetric::tx_rate_kbps>("tx_rate_kbps", "The same in kb/s."),
      Row::of<&FlowMetric::rx_rate_kbps>("rx_rate_kbps", "The same in kb/s."),
      Row::of<&FlowMetric::tx_rate_mbps>("tx_rate_mbps", "The same in Mb/s."),
      Row::of<&FlowMetric::rx_rate_mbps>("rx_rate_mbps", "The same in Mb/s.")};
  static constexpr FigureTable kTable{"A flow with metrics.", kRows};
  return kTable;
}

const FigureTable& NeighbourRow::figures() {
  using Row = FigureOf<NeighbourRow>;
  static constexpr Figure kRows[] = {
      Row::of<&NeighbourRow::ethernet_name>("ethernet_name", "Name of the interface."),
      Row::of<&NeighbourRow::ipv4_address>("ipv4_address", "Address of the neighbour."),
      Row::of<&NeighbourRow::ipv6_address>("ipv6_address", "Address of the neighbour."),
      Row::of<&NeighbourRow::link_layer_address>("link_layer_address", "Its MAC address.")};
  static constexpr FigureTable kTable{"A neighbour that was found.", kRows};
  return kTable;
}

}  // namespace lw::gen::otg
