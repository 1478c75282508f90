// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "capture/writer.h"
#include "gen/ports.h"
#include "gen/run_report.h"
#include "gen/scheduler.h"

namespace lw::gen {

/// Frames that go to one port together.
class BurstSender {
 public:
  static constexpr std::size_t kBurst = 32;

  /// `audit` gets each burst's pacing error and looks at some of the frames.
  BurstSender(nic::Port& port, const nic::Pool& pool, SendAudit& audit)
      : port_(port), pool_(pool), audit_(audit) {}

  [[nodiscard]] bool full() const noexcept { return count_ == kBurst; }
  void add(const DueFrame& due) noexcept { frames_[count_++] = due; }

  struct Outcome {
    std::span<const DueFrame> sent, given_up;
    std::int64_t wall_clock_ns = 0;  // just before the port got them
  };
  /// Writes the frames into buffers, stamps signatures with `now`, and hands them to the port,
  /// which gets a while to take them all; a port that used up its while gets none again until it
  /// takes a frame. `start` is what due times count from. The outcome is valid until the next
  /// add().
  Outcome send(Instant now, Instant start) noexcept;

 private:
  std::size_t fill(Instant now) noexcept;

  nic::Port& port_;
  const nic::Pool& pool_;
  SendAudit& audit_;
  std::array<DueFrame, kBurst> frames_;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::size_t count_ = 0;
  bool stuck_ = false;
};

}  // namespace lw::gen
