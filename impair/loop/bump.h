// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>

#include "impair/commands/stop_signal.h"
#include "impair/control/handover.h"
#include "impair/ledger/ledger_file.h"
#include "impair/loop/equipment.h"
#include "impair/loop/idle.h"
#include "impair/loop/way.h"
#include "impair/report/report.h"

namespace lw::impair {

/// A direction's pipeline, as a profile asks for it; `known`: see path::Pipeline.
path::Pipeline pipeline_of(const profile::ImpairProfile& profile, path::Direction direction,
                           std::span<const std::string> known = {});
/// The same, where the two directions tell each other of connections: only events ask for them.
path::Pipeline pipeline_of(const profile::ImpairProfile& profile, path::Direction direction,
                           std::span<const std::string> known,
                           const std::shared_ptr<path::CmExchange>& exchange);

/// What both directions follow from the next turn on.
struct Configuration {
  Configuration(const profile::ImpairProfile& profile, const RuleNames& known);
  [[nodiscard]] RuleNames names() const {
    return {eastward.pipeline.rule_names(), westward.pipeline.rule_names()};
  }
  std::shared_ptr<path::CmExchange> exchange = std::make_shared<path::CmExchange>();
  FrameLane::Standby eastward, westward;
  Duration longest_stay;
};

/// The bump in the wire: both directions on the calling thread.
class Bump {
 public:
  Bump(const profile::ImpairProfile& profile, Equipment& equipment, path::LedgerSink* ledger);

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
  /// How many names of rules it may come to know in a direction.
  [[nodiscard]] std::size_t most_rules() const noexcept { return eastward_.lane().most_rules(); }

 private:
  bool turn(bool receiving) noexcept {
    const bool east = eastward_.turn(receiving);
    const bool west = westward_.turn(receiving);
    return east || west;
  }
  void rest(Idle& idle) noexcept {
    idle.rest(nic::now(),
              std::min(eastward_.lane().next_release(), westward_.lane().next_release()));
  }
  void serve_others();
  void swap(Configuration& next) noexcept;
  void fill(Report& report, Instant now, bool running) const;
  [[nodiscard]] bool over(Instant now, const RunConfig& config) const noexcept;

  std::shared_ptr<path::CmExchange> exchange_ = std::make_shared<path::CmExchange>();
  Way eastward_, westward_;
  Duration longest_stay_;
  Instant start_ = nic::now();
  Instant end_ = start_;
  Handover<Configuration> configurations_;
  Handover<Report> snapshots_;
};

}  // namespace lw::impair
