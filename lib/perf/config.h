// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/time.h"
#include "perf/path.h"
#include "transport/qp_config.h"
#include "wire/opcode.h"

namespace lw::perf {

/// Limits of a NIC. A limit of 0 is none: only the link limits.
struct NicConfig {
  double rate_bps = 100e9;
  Duration latency{500};  // of host and NIC, in each direction
  /// A QP keeps the port until its message ends, or for so many packets; 1: QPs alternate packet by
  /// packet. ACKs and CNPs of other QPs go in between.
  std::uint32_t arbitration_burst = 256;
  Duration per_message{};  // between the first packets of two messages
  Duration per_packet{};   // between two packets
  // Rate at which the host can store the payload of received SENDs, in bit/s; 0: the link rate.
  double receive_send_bps = 0;
  /// Of jobs on a network: from when a message may be sent until it is posted.
  Duration step_overhead{};
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
  /// most_packets.
  std::uint32_t round_trips = 120;
  /// Packets of both hosts after which a simulated bandwidth run without a given length ends in any
  /// case: the same question has the same answer on each machine.
  std::uint64_t most_packets = 60'000'000;
  std::uint32_t receives = 0;  // that a responder's QP keeps posted; 0: it never lacks a receive
  Duration repost{};           // from a message's arrival until its receive is posted again
  bool both = false;           // bandwidth: the responder sends as many messages as the client
  bool read_back = false;  // latency of WRITEs to a passive peer: a READ fetches each message again
  Duration duration{};     // replaces iterations; 0: none
  Duration margin{};       // at the start and the end of that time; the average leaves it out
  // true: the run ends early and keeps its results; null: never
  const std::atomic<bool>* stop = nullptr;
  transport::QpConfig qp;  // qpn, peers and PSNs are filled in
  NicConfig nic;
  PerfPath path;

  [[nodiscard]] bool stopped() const noexcept {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool sends_data() const noexcept { return wire::sends_data(operation); }
  /// True if a requester gets data back: READs and atomics.
  [[nodiscard]] bool fetches() const noexcept { return !sends_data(); }
  [[nodiscard]] bool is_atomic() const noexcept { return wire::is_atomic(operation); }
  /// True if each message takes a receive of the responder.
  [[nodiscard]] bool takes_receive() const noexcept {
    return operation == wire::Operation::send || immediate;
  }
  /// Bytes of a message: 8 of an atomic.
  [[nodiscard]] std::uint32_t message_bytes() const noexcept { return is_atomic() ? 8 : size; }
  /// Length of a simulated run in messages of a QP: endless if its time ends it.
  [[nodiscard]] std::uint64_t most_messages() const noexcept {
    return iterations > 0 ? iterations : std::uint64_t{1} << 40;
  }
  /// Messages of all QPs, both ways.
  [[nodiscard]] std::uint64_t all_messages() const noexcept { return iterations * qps * ways(); }
  [[nodiscard]] std::uint64_t ways() const noexcept { return both ? 2 : 1; }
};

/// What a run measures. The RDMA programming study counts ping and blast in its own way; incast,
/// all_to_all and ring are of several processes.
enum class PerfPattern : std::uint8_t { bw, lat, ping, blast, incast, all_to_all, ring };
inline constexpr std::array<std::string_view, 7> kPatternNames = {
    "bw", "lat", "ping", "blast", "incast", "all-to-all", "ring"};
constexpr std::string_view name_of(PerfPattern pattern) noexcept {
  return kPatternNames[static_cast<std::size_t>(pattern)];
}
constexpr bool is_latency(PerfPattern pattern) noexcept {
  return pattern == PerfPattern::lat || pattern == PerfPattern::ping;
}
constexpr bool is_of_study(PerfPattern pattern) noexcept {
  return pattern == PerfPattern::ping || pattern == PerfPattern::blast;
}

/// True if a READ fetches each message again: a ping of the study by WRITEs, whose peer is passive.
constexpr bool reads_back(const PerfConfig& config, PerfPattern pattern) noexcept {
  return pattern == PerfPattern::ping && config.operation == wire::Operation::write &&
         !config.immediate;
}

/// Checks what every run obeys, simulated or real. Errors name the option.
Result<void> check(const PerfConfig& config, PerfPattern pattern);
/// Checks a real run: UC and UD lack some operations, and recovery. `answered`: each message needs
/// an answer, or there are several sizes.
Result<void> check_transport(const PerfConfig& config, bool answered);
/// The sizes to measure: the configured one, or every power of two from 2 B to 8 MiB. Atomics have
/// one size.
std::vector<std::uint32_t> sizes_of(const PerfConfig& config, bool all);

/// Returns true if the result depends on the seed.
[[nodiscard]] bool by_chance(const PerfConfig& config) noexcept;

/// Round trip: both one-way delays and the latencies of hosts and NICs.
constexpr Duration round_trip_of(const PerfConfig& config) noexcept {
  return config.path.one_way + config.path.way_back.value_or(config.path.one_way) +
         4 * config.nic.latency;
}

/// Time in ns for which a message occupies the slowest of link, NIC and path, in the direction of
/// its payload.
double link_ns_of_message(const PerfConfig& config) noexcept;

}  // namespace lw::perf
