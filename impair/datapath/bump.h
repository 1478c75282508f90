// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <thread>

#include "core/handoff/mailbox.h"
#include "core/handoff/quiesce.h"
#include "app/stop_signal.h"
#include "impair/control/timed_change.h"
#include "impair/datapath/equipment.h"
#include "impair/datapath/idle.h"
#include "impair/datapath/way.h"
#include "impair/record/ledger_file.h"
#include "impair/record/recording.h"
#include "impair/report/report.h"

namespace lw::impair {

/// The bump in the wire: both directions on the calling thread, or, on two cores, the way from east
/// to west on one of its own. Either way the same is decided: a direction knows nothing of the
/// other but what its connections' set-up tells it.
class Bump {
 public:
  Bump(const config::ImpairProfile& profile, Equipment& equipment, emulator::LedgerSink* ledger);

  /// Shows all frames to a recording, which must outlive the bump. Before work().
  void record(Recording& recording) noexcept {
    eastward_.record(recording.recorder(emulator::Direction::west_to_east));
    westward_.record(recording.recorder(emulator::Direction::east_to_west));
  }

  /// Until a signal, or what `config` says.
  void work(const RunConfig& config, const StopSignal& stop);
  /// Lets out what is in flight; what doesn't leave in time is dropped and counted.
  void drain(const StopSignal& stop);
  /// Directions and seconds; after drain().
  void report(Report& report) const;

  /// From another thread, while work() or drain() runs; one at a time. Lends `next` to be swapped
  /// for the configuration in force, which it then is. False when the run has ended.
  [[nodiscard]] bool apply(Configuration& next);
  /// From another thread: the same as report(), of the run so far.
  [[nodiscard]] bool snapshot(Report& report);
  /// Where changes are lent that are to be put in force at an instant.
  [[nodiscard]] Mailbox<TimedChange>& changes() noexcept { return changes_; }
  /// Time 0 of the scenario: when the first frame came in; nothing as long as none has. Any thread.
  [[nodiscard]] std::optional<Instant> zero() const noexcept {
    const Instant zero{Duration{zero_.load(std::memory_order_relaxed)}};
    return zero == kNever ? std::nullopt : std::optional(zero);
  }
  /// How many names of rules it may come to know in a direction.
  [[nodiscard]] std::size_t most_rules() const noexcept { return eastward_.link().most_rules(); }

 private:
  bool turn(bool receiving) noexcept {
    const bool east = eastward_.turn(receiving);
    const bool west = !on_two_cores_ && westward_.turn(receiving);
    if (zero_.load(std::memory_order_relaxed) == kNever.time_since_epoch().count()) [[unlikely]]
      find_zero();
    changes_.take_due(eastward_.looked(), Instant{Duration{zero_.load(std::memory_order_relaxed)}},
                      [this](TimedChange& change) { put_in_force(change); });
    return east || west;
  }
  void find_zero() noexcept;
  void put_in_force(TimedChange& change) noexcept;
  void rest(Idle& idle) noexcept {
    Instant next = eastward_.next_work();
    if (!on_two_cores_) next = std::min(next, westward_.next_work());
    idle.rest(nic::now(), next);
  }
  void work_alone(const RunConfig& config, const StopSignal& stop);
  void work_westward(const RunConfig& config, const std::stop_token& over);
  void serve_others();
  void swap(Configuration& next) noexcept;
  void fill(Report& report, Instant now, bool running) const;
  [[nodiscard]] bool over(Instant now, const RunConfig& config) const noexcept;

  PauseExchange pauses_;
  std::shared_ptr<emulator::CmExchange> exchange_ = std::make_shared<emulator::CmExchange>();
  Way eastward_, westward_;
  Duration longest_stay_;
  Instant start_ = nic::now();
  Instant end_ = start_;
  bool on_two_cores_ = false;
  Quiesce westward_quiesce_;  // stops the worker that forwards from east to west
  Mailbox<Configuration> configurations_;
  Mailbox<Report> snapshots_;
  static constexpr Instant kNever = Instant::max();
  std::atomic<Duration::rep> zero_{kNever.time_since_epoch().count()};
  Mailbox<TimedChange> changes_;
};

}  // namespace lw::impair
