// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "core/histogram.h"
#include "core/time.h"
#include "perf/batch_means.h"
#include "perf/rate.h"
#include "transport/work.h"

namespace lw::perf {

/// Packets of one direction of a simulated path.
struct PathCounters {
  std::uint64_t entered = 0, delivered = 0, duplicated = 0;
  std::uint64_t lost = 0, tail_dropped = 0, corrupted = 0, marked = 0, delayed = 0;
};

/// The steady rate of a run with random losses is known if its 95 % interval is at most this share
/// of it away.
inline constexpr double kSteadyShare = 0.05;
/// The first completion in error of a run: its reason, and which QP of which host had it.
struct Failure {
  transport::Status status{};
  std::uint16_t host = 0;
  std::uint32_t qp = 0;
  Instant at;
};

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
  std::uint64_t cnps = 0;               // sent by either side
  PathCounters there, back;             // of a simulated path

  /// True if the interval is as narrow as a run without a given length wants it.
  [[nodiscard]] bool is_steady() const noexcept {
    return steady_interval && steady_interval->within(kSteadyShare, steady_bps);
  }
  /// Goodput of one direction of a run both ways.
  [[nodiscard]] double back_bps() const noexcept { return bps_of(back_bytes); }
  [[nodiscard]] double there_bps() const noexcept { return bps_of(bytes - back_bytes); }
  [[nodiscard]] double bps_of(std::uint64_t some) const noexcept { return rate_bps(some, elapsed); }
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
  double sum_ns = 0, squares = 0;
  std::uint64_t failed = 0;             // completions in error
  std::optional<Failure> failure = {};  // the first of them
  bool stopped = false;                 // ended early
  bool stuck = false;                   // the next message waits for ever

  void add(Duration latency);
  [[nodiscard]] double deviation_ns() const noexcept;
};

/// Leaves out the steady and the peak rate if the steady one is above the link's: then the window
/// is too short, and the arrival of a burst decides. No half of it carries more than the link.
void keep_measurable(BandwidthResult& result, double link_bps) noexcept;

}  // namespace lw::perf
