// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/report/perf_settings.h"

#include "perf/config.h"

namespace lw::gen {
namespace {

using perf::NicConfig, perf::PerfConfig, perf::PerfPath, transport::QpConfig;

constexpr std::string_view kRecoveries[] = {"go-back-N", "selective-repeat"};
constexpr std::string_view kControls[] = {"none", "fixed", "dcqcn"};

}  // namespace

const FigureTable& qp_settings() {
  using Row = FigureOf<PerfConfig>;
  static constexpr Figure kRows[] = {
      Row::of<&PerfConfig::operation>("operation", "RDMA operation."),
      Row::of<&PerfConfig::immediate>("immediate", "True for operations with immediate data."),
      Row::of<&PerfConfig::size>("bytes", "Message size, in bytes.", Unit::bytes),
      Row::of<&PerfConfig::qps>("qps", "Number of QPs."),
      Row::of<through<&PerfConfig::qp, &QpConfig::tx_depth>>("tx_depth",
                                                             "Send queue depth, in work requests."),
      Row::of<through<&PerfConfig::qp, &QpConfig::max_outstanding_wqe>>(
          "outstanding", "Most work requests outstanding per QP; 0 for no limit."),
      Row::of<through<&PerfConfig::qp, &QpConfig::max_rd_atomic>>(
          "reads", "Most READs and atomics outstanding per QP."),
      Row::of<through<&PerfConfig::qp, &QpConfig::psn_window>>("psn_window",
                                                               "Most packets outstanding per QP."),
      Row::of<through<&PerfConfig::qp, &QpConfig::mtu>>("mtu", "Path MTU, in bytes of payload.",
                                                        Unit::bytes),
      Row::of<through<&PerfConfig::qp, &QpConfig::ack_every>>("ack_every",
                                                              "Packets per requested ACK."),
      Row::of<through<&PerfConfig::qp, &QpConfig::timeout>>(
          "timeout", "Local ACK timeout, as the exponent of 4.096 us x 2^n."),
      Row::of<through<&PerfConfig::qp, &QpConfig::retry_count>>("retries",
                                                                "Retries before a QP fails."),
      Row::of<through<&PerfConfig::qp, &QpConfig::rnr_retry>>(
          "rnr_retries", "Retries after RNR NAKs; 7 for no limit."),
      Row::of<through<&PerfConfig::qp, &QpConfig::adaptive_retransmission>>(
          "adaptive", "True if the timeout adapts."),
      Row::of<[](const PerfConfig& config) {
        return kRecoveries[config.qp.recovery == transport::LossRecovery::go_back_n ? 0 : 1];
      }>("recovery", "Recovery from loss.")
          .among(kRecoveries),
      Row::of<[](const PerfConfig& config) {
        return kControls[static_cast<std::size_t>(config.qp.rate_control)];
      }>("rate_control", "Control of the rate of a QP.")
          .among(kControls),
      Row::of<through<&PerfConfig::qp, &QpConfig::rate_bps>>(
          "qp_rate_bps", "Rate of a QP; 0 for no limit.", Unit::bits_per_second)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& simulated_settings() {
  using Row = FigureOf<PerfConfig>;
  static constexpr Figure kRows[] = {
      Row::of<through<&PerfConfig::qp, &QpConfig::reorder_packets>>(
          "reorder_packets", "Simulation: packets out of order that a receiver keeps."),
      Row::of<through<&PerfConfig::qp, &QpConfig::max_dest_rd_atomic>>(
          "responder_reads",
          "READs and atomics that the responder answers at once, per QP; 0: any number."),
      Row::of<through<&PerfConfig::nic, &NicConfig::latency>>(
          "nic_latency_ns", "Simulation: latency of a NIC.", Unit::ns),
      Row::of<through<&PerfConfig::nic, &NicConfig::per_packet>>(
          "nic_per_packet_ns", "Simulation: time of a NIC per packet.", Unit::ns),
      Row::of<through<&PerfConfig::nic, &NicConfig::per_message>>(
          "nic_per_message_ns", "Simulation: time of a NIC per message.", Unit::ns),
      Row::of<through<&PerfConfig::nic, &NicConfig::arbitration_burst>>(
          "arbitration_packets", "Simulation: packets of a QP before the next one."),
      Row::of<through<&PerfConfig::nic, &NicConfig::receive_send_bps>>(
          "receive_limit_bps", "Simulation: most that a receiver takes; 0 for no limit.",
          Unit::bits_per_second),
      Row::of<&PerfConfig::receives>("receives",
                                     "Simulation: receives posted per QP; 0 for always enough."),
      Row::of<&PerfConfig::repost>("repost_ns", "Simulation: time to post a receive again.",
                                   Unit::ns),
      Row::of<through<&PerfConfig::qp, &QpConfig::end_to_end_credits>>(
          "credits", "Simulation: end-to-end credits."),
      Row::of<through<&PerfConfig::qp, &QpConfig::rnr_timer>>("rnr_timer",
                                                              "Simulation: code of the RNR timer."),
      Row::of<[](const PerfConfig& config) {
        return config.path.way_back.value_or(config.path.one_way);
      }>("way_back_ns", "Simulation: delay of the way back.", Unit::ns),
      Row::of<through<&PerfConfig::path, &PerfPath::rate_bps>>(
          "path_rate_bps", "Simulation: rate of the path.", Unit::bits_per_second),
      Row::of<through<&PerfConfig::path, &PerfPath::buffer_bytes>>(
          "path_buffer_bytes", "Simulation: buffer before the path, in bytes.", Unit::bytes),
      Row::of<through<&PerfConfig::path, &PerfPath::loss>>(
          "loss", "Simulation: share of packets that the path loses, 0 to 1."),
      Row::of<through<&PerfConfig::path, &PerfPath::marking>>(
          "mark", "Simulation: share of packets that the path marks CE, 0 to 1."),
      Row::of<through<&PerfConfig::path, &PerfPath::seed>>("seed", "Simulation: random seed."),
      Row::of<through<&PerfConfig::path, &PerfPath::one_way>>(
          "one_way_ns", "Simulation: delay of the way there.", Unit::ns),
      Row::of<through<&PerfConfig::nic, &NicConfig::rate_bps>>(
          "rate_bps", "Simulation: rate of a NIC.", Unit::bits_per_second)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& PortPeer::figures() {
  using Row = FigureOf<PortPeer>;
  static constexpr Figure kRows[] = {
      Row::of<through<&PortPeer::stats, &ServerStats::checked>>(
          "checked", "Messages whose bytes were compared."),
      Row::of<through<&PortPeer::stats, &ServerStats::wrong>>(
          "wrong", "Messages with other bytes than were sent."),
      Row::of<through<&PortPeer::stats, &ServerStats::duplicates>>("duplicates",
                                                                   "Packets that came again."),
      Row::of<through<&PortPeer::stats, &ServerStats::out_of_sequence>>("out_of_sequence",
                                                                        "Packets out of sequence."),
      Row::of<through<&PortPeer::stats, &ServerStats::cnps>>("cnps",
                                                             "Congestion notifications sent."),
      Row::of<&PortPeer::dropped>("dropped",
                                  "Packets dropped as a part of their message was missing.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& MeasuredPort::figures() {
  using Row = FigureOf<MeasuredPort>;
  static constexpr Figure kRows[] = {
      Row::of<&MeasuredPort::port>("port", "Port or device of this side."),
      Row::of<&MeasuredPort::peer>("peer", "Address of the peer."),
      Row::of<&MeasuredPort::transport>("transport", "RC, UC or UD."),
      Row::of<&MeasuredPort::verify>(
          "verify", "Messages that both sides compare byte by byte: all, sampled or none."),
      Row::of<&MeasuredPort::wrong>("wrong", "Messages of READs with other bytes than were sent."),
      Row::of<&MeasuredPort::bad_icrc>("bad_icrc", "Frames received with a wrong ICRC."),
      Row::of<&MeasuredPort::frames_not_sent>("frames_not_sent",
                                              "Frames that the port did not take."),
      Row::of<&MeasuredPort::responder>("responder", "What roce-gen respond counted."),
      Row::of<&MeasuredPort::traffic>("traffic_class",
                                      "Class of the traffic that this side sends."),
      Row::of<&MeasuredPort::classes>("classes", "Packets of this side by class."),
      Row::of<&MeasuredPort::other_partition>(
          "other_partition", "Packets with the P_Key of another partition, which were not taken.",
          Unit::frames)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& DevicePeer::figures() {
  using Row = FigureOf<DevicePeer>;
  static constexpr Figure kRows[] = {
      Row::of<through<&DevicePeer::stats, &ServerStats::checked>>(
          "checked", "Messages whose bytes were compared."),
      Row::of<through<&DevicePeer::stats, &ServerStats::wrong>>(
          "wrong", "Messages with other bytes than were sent."),
      Row::of<&DevicePeer::counted>("counted", "True if the server counted the messages itself."),
      Row::of<&DevicePeer::messages>("messages", "Messages that arrived."),
      Row::of<&DevicePeer::bytes>("bytes", "Bytes of payload that arrived.", Unit::bytes),
      Row::of<&DevicePeer::counters>("counters", "Changes of the device's counters.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& MeasuredDevice::figures() {
  using Row = FigureOf<MeasuredDevice>;
  static constexpr Figure kRows[] = {
      Row::of<&MeasuredDevice::port>("port", "Port or device of this side."),
      Row::of<&MeasuredDevice::peer>("peer", "Address of the peer."),
      Row::of<&MeasuredDevice::inlined>("inline",
                                        "Device: true if the data is in the work requests."),
      Row::of<&MeasuredDevice::poll>("poll", "Device: busy or event."),
      Row::of<&MeasuredDevice::post_list>("post_list", "Device: work requests per post."),
      Row::of<&MeasuredDevice::signal>("signal", "Device: all or periodic completions."),
      Row::of<&MeasuredDevice::checked>("checked", "Device: true if the bytes were compared."),
      Row::of<&MeasuredDevice::server>("server", "What roce-endpoint serve counted.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace lw::gen
