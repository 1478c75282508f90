// SPDX-License-Identifier: BSD-3-Clause
#include "perf/settings.h"

#include <chrono>

#include "core/limits.h"
#include "perf/config.h"
#include "perf/words.h"

namespace lw::perf {
namespace {

using transport::LossRecovery, transport::QpConfig;

using Config = PerfConfig;
using Row = FigureOf<PerfConfig>;

constexpr double kMostPackets = 1u << 23;  // half of the PSNs (IBTA vol. 1, 9.7.2)
constexpr double kMostDepth = 1u << 20;
constexpr double kMostReads = 1u << 16;
constexpr double kLongest = std::chrono::nanoseconds(kLongestTime).count();

template <auto member>
constexpr auto kOfQp = through<&PerfConfig::qp, member>;
template <auto member>
constexpr auto kOfNic = through<&PerfConfig::nic, member>;
template <auto member>
constexpr auto kOfPath = through<&PerfConfig::path, member>;

/// Leads to the run itself, for rows that stand in other tables.
constexpr auto kSelf = [](auto& config) -> auto& { return config; };

constexpr Words<LossRecovery, 2> kRecoveryWords = {
    {{"go-back-N", LossRecovery::go_back_n}, {"selective-repeat", LossRecovery::selective_repeat}}};

// Rows of QPs and of profiles of NICs.
constexpr Figure kOutstanding =
    Row::of<kOfQp<&QpConfig::max_outstanding_wqe>>(
        "outstanding", "Work requests begun and not acknowledged, per QP: the NIC's window.")
        .from(1, kMostDepth);
constexpr Figure kReads =
    Row::of<kOfQp<&QpConfig::max_rd_atomic>>("reads", "Outstanding READs and atomics, per QP.")
        .from(1, kMostReads);
constexpr Figure kPsnWindow =
    Row::of<kOfQp<&QpConfig::psn_window>>("psn_window", "PSNs not acknowledged, per QP.")
        .from(1, kMostPackets);

}  // namespace

const FigureTable& qp_settings() {
  static constexpr Figure kRows[] = {
      Row::of<&Config::qps>("qps", "Number of QPs.").from(1, 65536).as_option("-q,--qps"),
      Row::of<kOfQp<&QpConfig::tx_depth>>("tx_depth", "Work requests posted at once, per QP.")
          .from(1, kMostDepth)
          .as_option("-t,--tx-depth"),
      kOutstanding,
      kReads,
      kPsnWindow,
      Row::of<kOfQp<&QpConfig::ack_every>>(
          "ack_every", "Packets of a message after which an ACK is requested; 0: at its end only.")
          .from(0, kMostPackets),
      Row::of<kOfQp<&QpConfig::timeout>>("timeout", "Local ACK timeout: 4.096 us x 2^N; 0: never.")
          .from(0, 31),
      Row::of<kOfQp<&QpConfig::retry_count>>("retries", "Retries before a QP fails.").from(0, 7),
      Row::of<kOfQp<&QpConfig::adaptive_retransmission>>(
          "adaptive", "Adaptive retransmission: the timeout follows the measured round trip.")
          .set_to()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& nic_settings() {
  static constexpr Figure kRows[] = {
      Row::of<kOfQp<&QpConfig::max_dest_rd_atomic>>(
          "responder_reads",
          "READs and atomics that the simulated responder answers at once, per QP; it refuses "
          "more. 0: any number.")
          .from(0, kMostReads),
      Row::of<kOfQp<&QpConfig::reorder_packets>>(
          "reorder_packets",
          "Selective repeat: bits of the receiver's bitmap, and so PSNs not acknowledged, per QP.")
          .from(1, kMostPackets),
      Row::of<kOfNic<&NicConfig::rate_bps>>(
          "rate_bps", "Link rate of the simulated NICs, 1 kb/s to 100 Tb/s.", Unit::bits_per_second)
          .from(1e3, 100e12),
      Row::of<kOfNic<&NicConfig::latency>>(
          "nic_latency_ns", "Latency of a simulated host and its NIC, in each direction.", Unit::ns)
          .from(0, kLongest),
      Row::of<kOfNic<&NicConfig::per_packet>>(
          "nic_per_packet_ns", "Least time between two packets of a simulated NIC.", Unit::ns)
          .from(0, kLongest),
      Row::of<kOfNic<&NicConfig::per_message>>(
          "nic_per_message_ns",
          "Time that a simulated NIC takes for a message, in addition to that of its first packet.",
          Unit::ns)
          .from(0, kLongest),
      Row::of<kOfQp<&QpConfig::message_gap>>("nic_message_gap_ns",
                                             "Least time from the last packet of a QP's message to "
                                             "the first of its next one, begin to "
                                             "begin.",
                                             Unit::ns)
          .from(0, kLongest),
      Row::of<kOfQp<&QpConfig::nak_reaction>>(
          "nic_nak_reaction_ns",
          "Time from the arrival of a NAK of a PSN gap until a simulated NIC retransmits.",
          Unit::ns)
          .from(0, kLongest),
      Row::of<kOfNic<&NicConfig::step_overhead>>(
          "nic_step_overhead_ns",
          "Of jobs on a network that don't say it: time from when a message may be sent until it "
          "is posted.",
          Unit::ns)
          .from(0, kLongest),
      Row::of<kOfNic<&NicConfig::arbitration_burst>>(
          "arbitration_packets",
          "Packets that a QP sends of a message before another QP of the simulated NIC may.")
          .from(1, kMostPackets)
          .as_option("--arbitration"),
      Row::of<kOfNic<&NicConfig::receive_send_bps>>(
          "receive_limit_bps",
          "Rate at which a simulated host stores the payload of received SENDs; the rest waits in "
          "a buffer. 0: the link rate.",
          Unit::bits_per_second)
          .from(0, 100e12)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& nic_windows() {
  static constexpr Figure kRows[] = {kOutstanding, kReads, kPsnWindow};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& receive_settings() {
  static constexpr Figure kRows[] = {
      Row::of<&Config::receives>(
          "receives",
          "Receives that a simulated responder's QP keeps posted; 0: it never lacks one.")
          .from(0, 1u << 16),
      Row::of<&Config::repost>(
          "repost_ns", "Time from a message's arrival until its receive is posted again.", Unit::ns)
          .from(0, kLongest),
      Row::of<kOfQp<&QpConfig::end_to_end_credits>>(
          "credits", "End-to-end credits: SENDs wait for the receives that ACKs announce.")
          .set_to(),
      Row::of<kOfQp<&QpConfig::rnr_timer>>(
          "rnr_timer",
          "Code of the RNR timer that a responder without a receive asks for: 12 is 640 us.")
          .from(0, 31)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& run_settings() {
  static constexpr Figure kRows[] = {
      Row::of<&Config::operation>("operation", "RDMA operation."),
      Row::of<&Config::immediate>("immediate", "True for operations with immediate data."),
      Row::of<&Config::size>("bytes", "Message size, in bytes.", Unit::bytes),
      Row::with_table<kSelf, qp_settings>(),
      Row::of<kOfQp<&QpConfig::mtu>>("mtu", "Path MTU, in bytes of payload.", Unit::bytes),
      Row::of<kOfQp<&QpConfig::rnr_retry>>("rnr_retries",
                                           "Retries after RNR NAKs; 7: without limit."),
      Row::word<kOfQp<&QpConfig::recovery>, kRecoveryWords>("recovery", "Recovery from loss."),
      Row::word<kOfQp<&QpConfig::rate_control>, kRateControlWords>("rate_control",
                                                                   "Control of the rate of a QP."),
      Row::of<kOfQp<&QpConfig::rate_bps>>("qp_rate_bps", "Rate of a QP; 0: without limit.",
                                          Unit::bits_per_second)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& simulated_settings() {
  static constexpr Figure kRows[] = {
      Row::with_table<kSelf, nic_settings>(),
      Row::with_table<kSelf, receive_settings>(),
      Row::of<[](const PerfConfig& config) {
        return config.path.way_back.value_or(config.path.one_way);
      }>("way_back_ns", "Simulation: delay of the way back.", Unit::ns),
      Row::of<kOfPath<&PerfPath::rate_bps>>("path_rate_bps", "Simulation: rate of the path.",
                                            Unit::bits_per_second),
      Row::of<kOfPath<&PerfPath::buffer_bytes>>(
          "path_buffer_bytes", "Simulation: buffer before the path, in bytes.", Unit::bytes),
      Row::of<kOfPath<&PerfPath::loss>>(
          "loss", "Simulation: share of packets that the path loses, 0 to 1."),
      Row::of<kOfPath<&PerfPath::marking>>(
          "mark", "Simulation: share of packets that the path marks CE, 0 to 1."),
      Row::of<kOfPath<&PerfPath::seed>>("seed", "Simulation: random seed."),
      Row::of<kOfPath<&PerfPath::one_way>>("one_way_ns", "Simulation: delay of the way there.",
                                           Unit::ns)};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

}  // namespace lw::perf
