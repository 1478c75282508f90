// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "capture/writer.h"
#include "gen/receive/measurement.h"
#include "gen/report/progress_display.h"
#include "gen/stats/run_stats.h"
#include "gen/tx/ports.h"
#include "nic/port.h"

namespace lw::nic {
class StampClock;
}

namespace lw::gen {

class Companions;
class NeighborTable;
class ResponderPort;

/// Receives frames from ports, measures them and, if asked, copies them to a capture. All frames
/// of a burst have one arrival time: that of the poll that returned them.
class Listener {
 public:
  /// `copy` may be null. `clock` gives the arrival times that are compared with the signatures;
  /// null: the steady clock. All must outlive the listener. Frames after the first `most` are
  /// discarded.
  Listener(Measurement& measurement, capture::Writer* copy, const nic::StampClock* clock,
           std::uint64_t most = std::numeric_limits<std::uint64_t>::max())
      : measurement_(measurement), copy_(copy), clock_(clock), most_(most) {}

  /// Polls a port once and returns the number of frames. `responder`, if not null, answers requests
  /// for the port's addresses. Errors: the port's.
  Result<std::size_t> poll(nic::Port& port, ResponderPort* responder = nullptr);

  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
  /// When the last frame came that the measurement counts; nothing if none came.
  [[nodiscard]] std::optional<Instant> measured() const noexcept { return measured_; }
  /// Arrival times of the first and the last frame; valid if frames() > 0.
  [[nodiscard]] Instant first() const noexcept { return first_; }
  [[nodiscard]] Instant last() const noexcept { return last_; }

 private:
  static constexpr std::size_t kBurst = 64;
  Result<void> keep_copies(std::size_t count);
  Duration stamp_offset(Instant now) noexcept;

  Measurement& measurement_;
  capture::Writer* copy_;
  const nic::StampClock* clock_;
  Duration stamp_offset_{0};
  Instant next_clock_{};
  std::uint64_t most_;
  std::uint64_t frames_ = 0;
  Instant first_{}, last_{};
  std::optional<Instant> measured_;
  std::array<rte_mbuf*, kBurst> buffers_{};
};

/// Ports to receive from. `responders` is empty or has one entry per port, which may be null.
struct ListeningPorts {
  std::span<nic::Port> ports;
  std::span<const std::unique_ptr<ResponderPort>> responders = {};
};

/// Receives until a limit is reached, a stop is requested, all ports that read files are at their
/// end, or no RoCE frame arrives for `until_idle` after the first one. Yields or sleeps while
/// nothing arrives. Ends early if a port's interface disappears. Errors: the ports'.
Result<ReceiveReport> receive_all(const ListeningPorts& ports, Measurement& measurement,
                                  capture::Writer* copy, ProgressDisplay& display,
                                  const FlowNames& names, const Limits& limits,
                                  std::optional<Duration> until_idle, const nic::StampClock& clock);

/// Measures a whole capture. Its time stamps are the arrival times. They give latencies only if
/// they are at most an hour after the send times in the signatures, so that both may be of the same
/// clock.
Result<ReceiveReport> receive_file(const std::string& path, Measurement& measurement,
                                   ProgressDisplay& display, const FlowNames& names,
                                   const Limits& limits);

/// Tasks of a run besides sending: answer ARP and neighbour discovery, receive, and show progress.
/// The sending loop calls step() in every round; one thread, one clock.
class BackgroundTasks {
 public:
  /// `measurement` may be null: then nothing is received. `watched`: ports whose disappearance ends
  /// the run. `clock` may be null: the steady clock. All arguments but `names` must outlive this
  /// object.
  BackgroundTasks(NeighborTable& neighbors, std::span<nic::Port* const> receivers,
                  Measurement* measurement, ProgressDisplay& display, FlowNames names,
                  std::span<const nic::Port> watched = {}, const nic::StampClock* clock = nullptr);

  /// True if frames may arrive at any time, so that the loop must not sleep.
  [[nodiscard]] bool listens() const noexcept { return listener_.has_value(); }

  void start(Instant now) {
    display_.start(now);
    losses_.start(now);
  }
  /// What the receiving ports lost until `now`.
  [[nodiscard]] std::vector<OwnLoss> losses(Instant now) { return losses_.losses(now); }

  /// Reason why the run must end; nothing if it may continue.
  [[nodiscard]] const std::optional<std::string>& interrupted() const noexcept {
    return interrupted_;
  }

  /// Runs the tasks that are due. `sent()` returns the counters of sent frames; it is called only
  /// when progress is shown. `left`: time until the run ends, if known. Errors: the display's.
  template <class Sent>
  Result<void> step(Instant now, Sent sent, std::optional<Duration> left) {
    if (now >= next_neighbors_) poll_neighbors(now);  // once a millisecond
    if (listener_) {
      if (auto polled = poll(); !polled) return polled;
    }
    return display_.due(now) ? show(now, sent(), left) : Result<void>{};
  }

  /// Sets the other processes of a common run, whose messages step() takes. finish() waits for the
  /// frames of all. `companions` must outlive this object.
  void join(Companions& companions) noexcept { companions_ = &companions; }

  /// Call it when the run begins to send.
  void begun();

  /// Receives until all signed frames have arrived, or none has for `timeout`, or `stop` is set.
  Result<void> finish(const SentSoFar& sent, Duration timeout, const std::atomic<bool>& stop);

 private:
  Result<void> poll();
  void poll_neighbors(Instant now);
  Result<void> show(Instant now, const SentSoFar& sent, std::optional<Duration> left);
  [[nodiscard]] bool all_sent() const;
  [[nodiscard]] bool all_arrived(const std::vector<FlowCounters>& sent) const;

  Companions* companions_ = nullptr;  // null: none
  NeighborTable& neighbors_;
  Instant next_neighbors_{}, next_watch_{};
  std::span<const nic::Port> watched_;
  std::optional<std::string> interrupted_;
  std::vector<nic::Port*> receivers_;
  ReceiveWatch losses_;
  Measurement* measurement_;
  std::optional<Listener> listener_;
  ProgressDisplay& display_;
  FlowNames names_;
};

}  // namespace lw::gen
