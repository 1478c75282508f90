// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/flow/profile.h"
#include "core/figure.h"
#include "core/histogram.h"
#include "core/machine.h"
#include "core/time.h"
#include "roce/envelope.h"

namespace lw::gen {

/// Limits that end a run before its flows end, and its stop flag.
struct Limits {
  static constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t count = kAll;               // frames of the whole run
  std::optional<Duration> duration;         // frames due later are not sent
  std::optional<Duration> catch_up;         // limit of lateness; a longer delay moves the schedule
  const std::atomic<bool>* stop = nullptr;  // set by a signal; may be null

  [[nodiscard]] bool stopped() const noexcept {
    return stop != nullptr && stop->load(std::memory_order_relaxed);
  }
};

/// Counters of one sent flow.
struct alignas(64) FlowCounters {       // the first cache line has what every frame changes
  std::uint64_t frames = 0, bytes = 0;  // sent; bytes as a capture shows them, without FCS
  std::uint64_t wire_bytes = 0;         // with preamble, FCS and inter-frame gap
  std::uint64_t payload_bytes = 0;
  std::uint64_t messages = 0;         // messages with their last frame sent
  std::uint64_t unsigned_frames = 0;  // too short for the requested signature
  Duration begin{0};                  // due time of the first frame, from the run's start
  Duration span{0};                   // from the run's start to the end of the last frame's slot
  Duration late{0};                   // of the last frame; part of the span
  Duration shared{0};                 // end of that slot, in which other QPs of its [[flow]] send
  std::uint64_t not_sent = 0;         // dropped: the port took no more
  std::array<std::uint64_t, config::kFaultKinds> faults{};  // deliberate faults, by kind

  /// Average rate in `unit` per second from `begin` to `span`; 0 if nothing was sent.
  [[nodiscard]] double achieved(config::Rate::Unit unit) const noexcept;

  /// Adds the counters of a flow that ran in parallel. The sum ends with the last frame's part of
  /// the slot, as the QPs of a [[flow]] send in turn.
  FlowCounters& operator+=(const FlowCounters& other) noexcept;
  static const FigureTable& figures();
};

/// Reason why a port did not take frames, or lost frames that it took.
enum class NotSentReason : std::uint8_t {
  mtu,        // longer than the port sends
  link_down,  // or the peer of shared memory is gone
  ring_full,  // the port took no more for 200 ms
  port_error  // the port took the frames, and dropped them
};
inline constexpr std::size_t kNotSentReasons = 4;
std::string_view name_of(NotSentReason reason) noexcept;

/// Frames that a port did not send, by reason.
struct NotSent {
  std::array<std::uint64_t, kNotSentReasons> frames{};

  void add(NotSentReason reason, std::uint64_t count) noexcept {
    frames[static_cast<std::size_t>(reason)] += count;
  }
  void add(const NotSent& other) noexcept {
    for (std::size_t i = 0; i < frames.size(); ++i) frames[i] += other.frames[i];
  }
  [[nodiscard]] std::uint64_t total() const noexcept {
    return std::accumulate(frames.begin(), frames.end(), std::uint64_t{0});
  }
};

/// Frames that one port did not send.
struct PortLosses {
  std::string port;
  NotSent refused;  // frames that the port did not take; part of the flows' not_sent
  NotSent lost;     // frames that it took and lost, by its own counters

  static const FigureTable& figures();
};

/// Delays of the schedule by Limits::catch_up.
struct CatchUp {
  Duration skipped{0};       // sum of one core; the largest of all cores
  std::uint64_t stalls = 0;  // number of delays
};

/// How far a sender is behind its schedule.
struct PaceReport {
  Duration behind{0};       // at the end; with what Limits::catch_up put off
  double worst_second = 1;  // share of what was due in it that was sent
  Duration worst_at{0};     // its begin, since the start

  void add(const PaceReport& other) noexcept;
};

/// Samples the pace of a sending loop once a second.
class PaceWatch {
 public:
  void start(Instant now) noexcept { start_ = second_ = now; }
  [[nodiscard]] bool due(Instant now) const noexcept { return now - second_ >= kSecond; }
  /// Requires due(). `behind`: of the next frame, 0 if it is not due yet.
  void sample(Instant now, Duration behind) noexcept;
  /// The pace at the end.
  [[nodiscard]] PaceReport finish(Duration behind) const noexcept;

 private:
  static constexpr Duration kSecond = std::chrono::seconds(1);

  Instant start_{}, second_{};
  Duration behind_{0};  // at second_
  PaceReport pace_;
};

/// What ended a run.
enum class EndedBy : std::uint8_t { flows, count, duration, signal, failure };
std::string_view name_of(EndedBy end) noexcept;  // "flows": all frames of the profile were sent

/// Checks of the sender's timing and ICRCs.
struct SendAudit {
  static constexpr std::uint32_t kIcrcEvery = 4096;  // frames per ICRC that is computed in full

  static constexpr Duration kLate = std::chrono::milliseconds(2);

  Histogram pacing_error;         // ns from a burst's due time to its hand-over to the port
  std::uint64_t late_frames = 0;  // of bursts whose error was above kLate
  std::uint64_t icrc_checked = 0, bad_icrc = 0;

  void add(const SendAudit& other) noexcept {
    pacing_error.merge(other.pacing_error);
    late_frames += other.late_frames;
    icrc_checked += other.icrc_checked;
    bad_icrc += other.bad_icrc;
  }

  /// Checks one of every kIcrcEvery frames. `frame_at(i)` returns the bytes of the burst's frame i.
  template <class FrameAt>
  void look_at(std::size_t frames, FrameAt frame_at) noexcept {
    if (until_check_ >= frames) {
      until_check_ -= frames;
      return;
    }
    const wire::Bytes frame = frame_at(until_check_);
    until_check_ += kIcrcEvery - frames;
    ++icrc_checked;
    if (roce::check_icrc(roce::open_envelope(frame)) != roce::IcrcVerdict::ok) ++bad_icrc;
  }

 private:
  std::size_t until_check_ = 0;  // frames
};

/// The pacing errors of a run so far.
struct PacingSoFar {
  std::uint64_t bursts = 0;
  double sum_ns = 0;
  std::int64_t largest_ns = 0;
  Duration behind{0};  // of the schedule, now

  PacingSoFar() = default;
  explicit PacingSoFar(const Histogram& errors) noexcept
      : bursts(errors.count()), sum_ns(errors.sum()), largest_ns(errors.maximum()) {}
  void add(const PacingSoFar& other) noexcept {
    bursts += other.bursts;
    sum_ns += other.sum_ns;
    largest_ns = std::max(largest_ns, other.largest_ns);
    behind = std::max(behind, other.behind);
  }
};

/// Counters of a run so far.
struct SentSoFar {
  std::vector<FlowCounters> flows;
  PacingSoFar pacing = {};
};

/// Result of sending a profile.
struct RunReport {
  std::string profile;
  std::uint64_t seed = 0;
  Duration elapsed{0};               // virtual time for a capture, real time for a port
  std::vector<FlowCounters> flows;   // in the profile's order
  SendAudit audit;                   // of frames sent through ports
  std::vector<PortLosses> ports;     // empty for a capture
  std::optional<Duration> catch_up;  // the limit
  CatchUp caught_up;
  std::uint16_t run = 0;    // number of the run, in the signatures; 0 for a capture
  std::string clock;        // of the signatures' send times
  std::string interrupted;  // reason for an early end; empty: none
  EndedBy ended_by = EndedBy::flows;
  std::optional<Duration> duration;    // that was asked for
  std::uint64_t count = Limits::kAll;  // number of frames that was asked for
  PaceReport pace;                     // of frames sent through ports
  Machine machine;                     // with ports
  std::uint64_t missed = 0;            // frames that its receiving ports lost before they were read
  Duration started_late{0};            // after the instant that a common run had agreed on
  // Of a common run of several processes; empty otherwise:
  std::vector<std::string> hosts;           // by rank
  std::vector<std::uint16_t> rank_of_flow;  // which sent it

  [[nodiscard]] FlowCounters total() const noexcept;
  /// Sum of `count` flows from index `first`: the QPs of one [[flow]].
  [[nodiscard]] FlowCounters total(std::size_t first, std::size_t number) const noexcept;
  /// Frames that ports took and lost.
  [[nodiscard]] std::uint64_t lost_in_ports() const noexcept;
};

/// Result of receiving, besides the Measurement.
struct ReceiveReport {
  std::uint64_t missed = 0;  // frames that the ports lost before they were read
  Machine machine = {};
  Duration elapsed{0};      // from the first frame to the last
  std::string clock;        // of arrival times; empty: a capture's stamps
  std::string interrupted;  // reason for an early end; empty: none
};

}  // namespace lw::gen
