// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "capture/writer.h"
#include "gen/arp/neighbor_table.h"
#include "gen/receive/measurement.h"
#include "gen/report/progress_display.h"
#include "gen/stats/limits.h"
#include "nic/port.h"

namespace lw::gen {

/// Receives frames from ports, measures them and, if asked, copies them to a capture. All frames
/// of a burst have one arrival time: that of the poll that returned them.
class Listener {
 public:
  /// `copy` may be null; both arguments must outlive the listener. Frames after the first `most`
  /// are discarded.
  Listener(Measurement& measurement, capture::Writer* copy,
           std::uint64_t most = std::numeric_limits<std::uint64_t>::max())
      : measurement_(measurement), copy_(copy), most_(most) {}

  /// Polls a port once and returns the number of frames. `responder`, if not null, answers requests
  /// for the port's addresses. Errors: the copy can't be written.
  Result<std::size_t> poll(nic::Port& port, ResponderPort* responder = nullptr);

  [[nodiscard]] std::uint64_t frames() const noexcept { return frames_; }
  /// Arrival times of the first and the last frame; valid if frames() > 0.
  [[nodiscard]] Instant first() const noexcept { return first_; }
  [[nodiscard]] Instant last() const noexcept { return last_; }

 private:
  static constexpr std::size_t kBurst = 64;
  Result<void> keep_copies(std::size_t count);

  Measurement& measurement_;
  capture::Writer* copy_;
  std::uint64_t most_;
  std::uint64_t frames_ = 0;
  Instant first_{}, last_{};
  std::array<rte_mbuf*, kBurst> buffers_{};
};

/// Ports to receive from. `responders` is empty or has one entry per port, which may be null.
struct ListeningPorts {
  std::span<nic::Port> ports;
  std::span<const std::unique_ptr<ResponderPort>> responders = {};
};

/// Receives until a limit is reached, a stop is requested, all ports that read files are at their
/// end, or no frame arrives for `until_idle` after the first one. Yields or sleeps while nothing
/// arrives. Errors: the copy or the time series can't be written.
Result<ReceiveReport> receive_all(const ListeningPorts& ports, Measurement& measurement,
                                  capture::Writer* copy, ProgressDisplay& display,
                                  const FlowNames& names, const Limits& limits,
                                  std::optional<Duration> until_idle);

/// Measures a whole capture. The capture's stamps are the arrival times. They give latencies only
/// if they are at most an hour after the signatures' stamps, so may be of the same clock.
Result<ReceiveReport> receive_file(const std::string& path, Measurement& measurement,
                                   const Limits& limits);

}  // namespace lw::gen
