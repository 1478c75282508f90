// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>

#include "gen/tx/core_share.h"
#include "gen/tx/port_run.h"
#include "gen/tx/tx_loop.h"

namespace lw::gen {

/// One core's part of a run: its flows, in a scheduler of their own, and its send queue. What it
/// has counted is put where another thread may read it, ten times a second.
class CoreRun {
 public:
  /// `run` and `budget` must outlive it.
  CoreRun(const PortRun& run, CoreShare share, FrameBudget& budget);

  /// For who drives the loop itself.
  [[nodiscard]] TxLoop& loop() noexcept { return loop_; }

  /// The same loop on a thread of its own: to the end, or until `cancelled`.
  void go(Instant start, const std::atomic<bool>& cancelled);

  /// Puts what was counted last into the places of the whole run's flows. Any thread.
  void put_published(std::vector<FlowTally>& flows);
  /// The same of what is counted now; the core's thread, or once it is through.
  void put_counted(std::vector<FlowTally>& flows) const { put(loop_.tallies(), flows); }

 private:
  void put(const std::vector<FlowTally>& own, std::vector<FlowTally>& flows) const;
  void publish(Instant now);

  const Limits& limits_;
  CoreShare share_;
  config::FlowProfile profile_;
  TxScheduler scheduler_;
  TxLoop loop_;
  Instant next_publish_{};
  std::mutex mutex_;
  std::vector<FlowTally> published_;  // under mutex_
};

}  // namespace lw::gen
