// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "core/histogram.h"
#include "sim/batch_means.h"
#include "sim/simulation.h"

namespace lw::sim {

/// The path between two hosts. Both directions are alike, except for their delay.
struct PerfPath {
  Duration one_way{};
  std::optional<Duration> way_back;  // delay of the way back, if it differs
  double rate_bps = 0;               // rate of a wavelength slower than the NICs, in b/s; 0: none
  std::uint64_t buffer_bytes = 64'000'000;  // of the switch before that wavelength
  /// Rules that replace the delays and the rate. Those are then nominal: the path's delay, and the
  /// rate of its slowest link.
  std::shared_ptr<const PathRules> rules;
  double loss = 0, marking = 0;  // probabilities per packet, in addition to the rules' own
  std::uint64_t seed = 1;        // of all random numbers
};

/// A run like perftest's: operation, message size, windows.
struct PerfConfig {
  wire::Operation operation = wire::Operation::write;
  bool immediate = false;      // SEND and WRITE
  std::uint32_t size = 65536;  // bytes of a message
  std::uint32_t qps = 1;
  std::uint64_t iterations = 0;  // messages per QP; bandwidth: 0 means round_trips
  /// Length of a bandwidth run without `iterations`. With 120, the first round trip lowers the
  /// average by less than 1 %. The run ends earlier at 30 million packets, but not before the
  /// steady rate is known. With 0 it ends when the steady rate is known. With random losses or
  /// marks it goes on until the 95 % interval of the steady rate is within kSteadyShare, or until
  /// kMostPackets packets.
  std::uint32_t round_trips = 120;
  std::uint32_t receives = 0;  // that a responder's QP keeps posted; 0: it never lacks a receive
  Duration repost{};           // from a message's arrival until its receive is posted again
  bool both = false;           // bandwidth: the responder sends as many messages as the client
  bool read_back = false;  // latency of WRITEs to a passive peer: a READ fetches each message again
  Duration duration{};     // bandwidth, replaces iterations; 0: none
  Duration margin{};       // at the start and the end of that time; the average leaves it out
  // true: the run ends early and keeps its results; null: never
  const std::atomic<bool>* stop = nullptr;
  transport::QpConfig qp;  // qpn, peers and PSNs are filled in

  [[nodiscard]] bool stopped() const noexcept {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
  }
  NicConfig nic;
  PerfPath path;
};

/// The steady rate of a run with random losses is known if its 95 % interval is at most this share
/// of it away.
inline constexpr double kSteadyShare = 0.05;
/// Packets of both hosts after which a run without a given length ends in any case.
inline constexpr std::uint64_t kMostPackets = 60'000'000;

/// Returns true if the result depends on the seed.
[[nodiscard]] bool by_chance(const PerfConfig& config) noexcept;

/// Round trip: both one-way delays and the latencies of hosts and NICs.
constexpr Duration round_trip_of(const PerfConfig& config) noexcept {
  return config.path.one_way + config.path.way_back.value_or(config.path.one_way) +
         4 * config.nic.latency;
}

/// The first completion in error of a run: its reason, and which QP of which host had it.
struct Failure {
  transport::Status status{};
  std::uint16_t host = 0;
  std::uint32_t qp = 0;
  Instant at;
};

/// Time in ns for which a message occupies the slowest of link, NIC and path, in the direction of
/// its payload.
double link_ns_of_message(const PerfConfig& config) noexcept;

/// Result of a bandwidth run. Rates are goodput: payload delivered in order, each byte once,
/// without discarded and duplicate packets. `steady_bps` leaves out the start; see SteadySpan.
struct BandwidthResult {
  std::uint64_t messages = 0, bytes = 0;  // completed without error, both ways together
  std::uint64_t back_bytes = 0;           // of these those that the responder sent
  Duration elapsed{};                     // first post to last completion, or the duration
  double average_bps = 0;                 // bytes over elapsed, or between the margins
  double steady_bps = 0;                  // 0: the run was too short
  double peak_bps = 0;                    // of the better half of the steady window
  Duration steady_window{};               // in which steady_bps was measured
  // from the first half of that window to the second, relative to steady_bps
  double steady_change = 0;
  /// 95 % interval of steady_bps with random losses; nothing without them, or in a short run.
  std::optional<RateInterval> steady_interval = {};
  /// QPs that wait for ever: a packet was lost, nothing shows it, and there is no timer.
  std::uint32_t stuck_qps = 0;
  std::uint64_t packets = 0, retransmitted = 0, timeouts = 0;
  std::uint64_t outstanding = 0;  // packets sent once or more, and not acknowledged at the end
  std::uint64_t failed = 0;       // completions in error
  std::optional<Failure> failure = {};  // the first of them
  bool stopped = false;                 // ended early: the figures cover the time until then
  std::uint64_t events = 0;
  std::uint64_t cnps = 0;  // sent by either side
  HostCounters client, server;
  SimLinkCounters there, back;

  /// True if the interval is as narrow as a run without a given length wants it.
  [[nodiscard]] bool is_steady() const noexcept {
    return steady_interval && steady_interval->within(kSteadyShare, steady_bps);
  }
  /// Goodput of one direction of a run both ways.
  [[nodiscard]] double back_bps() const noexcept { return bps_of(back_bytes); }
  [[nodiscard]] double there_bps() const noexcept { return bps_of(bytes - back_bytes); }
  [[nodiscard]] double bps_of(std::uint64_t some) const noexcept {
    const auto ns = static_cast<double>(elapsed.count());
    return ns > 0 ? static_cast<double>(some) * 8e9 / ns : 0;
  }
  /// Share of new packets among those that are acknowledged or retransmitted.
  [[nodiscard]] double efficiency() const noexcept {
    const auto known = static_cast<double>(packets - outstanding);
    return known > 0 ? (known - static_cast<double>(retransmitted)) / known : 0;
  }
};

/// Latencies as perftest defines them: half of a ping-pong for SEND and WRITE, the whole of a
/// READ or an atomic; with `read_back` half of both together. In ns.
struct LatencyResult {
  Histogram ns;
  double deviation_ns = 0;
  std::uint64_t failed = 0;             // completions in error
  std::optional<Failure> failure = {};  // the first of them
  bool stopped = false;                 // ended early
  bool stuck = false;                   // the next message waits for ever
};

/// The span in which the steady rate is measured. If all windows together are small compared with
/// the path, they limit the rate and repeat: the rate is measured over whole windows of
/// completions, after 2 to 18 windows that are not counted. Otherwise the payload is measured that
/// arrives in whole steps of about a round trip, after the first three steps, for at least the time
/// of 10,000 packets.
struct SteadySpan {
  // By completions; a stride of 0: by time.
  std::uint64_t begin = 0, stride = 0, end = 0;
  // By time.
  Instant from = {}, to = {};
  Duration step = {};

  [[nodiscard]] bool by_count() const noexcept { return stride > 0; }
};
SteadySpan steady_span(const PerfConfig& config) noexcept;

/// Leaves out the steady and the peak rate if the steady one is above the link's: then the window
/// is too short, and the arrival of a burst decides. No half of it carries more than the link.
void keep_measurable(BandwidthResult& result, double link_bps) noexcept;

/// Called once the simulation and its hosts are set up, before the run.
using PerfHook = std::function<void(Simulation&)>;

BandwidthResult run_bandwidth(const PerfConfig& config, const PerfHook& hook = {});
/// `iterations` at least 1; one QP.
LatencyResult run_latency(const PerfConfig& config, const PerfHook& hook = {});

}  // namespace lw::sim
