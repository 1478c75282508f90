// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <tuple>

#include "emulator/stage.h"
#include "emulator/stages/accumulate.h"
#include "emulator/stages/corrupt.h"
#include "emulator/stages/delay.h"
#include "emulator/stages/duplicate.h"
#include "emulator/stages/limit.h"
#include "emulator/stages/loss.h"
#include "emulator/stages/mark.h"
#include "emulator/stages/outage.h"
#include "emulator/stages/police.h"
#include "emulator/stages/queue.h"
#include "emulator/stages/reorder.h"
#include "emulator/stages/rewrite.h"
#include "emulator/stages/slot.h"
#include "emulator/stages/targeted_events.h"
#include "emulator/stages/trace.h"

namespace lw::emulator {

template <class... S>
struct StageList;

/// All stages of a rule, in the order in which a frame passes them. Everything else is derived from
/// this list: profile keys, the short path, batches, which frames are opened, what a live change
/// carries over, counters, audit, `check`, JSON and reports.
///
/// To add a stage: write stages/NAME.h (and .cpp), include it above, and add its line here. It has
///   kName                 profile key
///   kActsOnBatch          true if it decides the same for all frames of a batch
///   kMayPause             true if it may have a schedule (emulator/when.h): a frame can pass as if
///                         the stage were absent. Past a queue, or a group that accumulates, it
///                         would overtake frames that wait there; a trace has a period of its own
///   kHooks                the list of the hooks below that it has (stage_hooks.h). A listed hook
///                         without its member, and a member without its hook, do not compile
///   Settings, Stats       its members of RuleConfig and RuleStats; Stats::add(other)
///   present(rule)         whether a rule has the stage
///   S(rule, setup)        constructor
/// and, if needed, the hooks
///   kNumber                              number in ledgers; the next free one is 16, Stage{16}
///   apply(passage, stats)                its effect on a frame; apply(passage, stats, envelope) if
///                                        it has reads_headers
///   reads_headers(rule)                  whether apply() uses them; if false, frames stay unopened
///   begin(passage, stats)                what other stages must know before the first applies
///   leave(passage, stats, envelope)      its effect on a frame that leaves the queue; then also
///   acts_on_leaving(rule)                whether leave() has one
///   fits_short_path(rule)                true if a rule may still take Rule's short path
///   varies(rule), waits(rule)            whether it delays frames unequally, or at all
///   edits(rule)                          whether it changes bytes
///   inherit(old, rule, old_rule [, now])  state carried over on a live change
///   inherit_counts(...)                  counters carried over on a live change
///   prepare(rule, stats)                 sizes its counters
///   read(keys, settings)                 profile keys
///   settings()                           row of its settings in RuleConfig, for JSON and the
///   manual describe(rule, texts)                lines of `check` audit(rule, stats, checks)
///   requested against measured figures()                            rows of RuleStats for JSON and
///   metrics (core/figure.h) report(stats, lines)                 lines of the text report
///   skip(passage)                        with kMayPause: its effect while it pauses
///   add_floor(rule, ample), add_ample(rule, ample)   its part of the longest delay
///   bytes_needed(rule)                   memory that it allocates, besides its own object
using Stages = StageList<Outage,          //
                         Police,          //
                         Loss,            //
                         TargetedEvents,  //
                         Corrupt,         //
                         Duplicate,       // copies pass only the stages after this one
                         Limit,           //
                         Rewrite,         //
                         Mark,            //
                         Queue,           //
                         Slot,            //
                         Delay,           //
                         Trace,           //
                         Reorder,         //
                         Accumulate       // a new stage: add it above, at its place in the order
                         >;

template <class... S>
struct StageList {
  using Storage = std::tuple<std::optional<S>...>;
  struct Settings : S::Settings... {
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats : S::Stats... {};
  static constexpr std::size_t kCount = sizeof...(S);

  /// Calls visit.operator()<S>() for each stage, in order.
  template <class Visit>
  static constexpr void for_each(Visit visit) {
    (visit.template operator()<S>(), ...);
  }
  /// Returns true if visit.operator()<S>() is true for any stage, or for all.
  template <class Visit>
  static constexpr bool any(Visit visit) {
    return (visit.template operator()<S>() || ...);
  }
  template <class Visit>
  static constexpr bool all(Visit visit) {
    return (visit.template operator()<S>() && ...);
  }
  template <class Wanted>
  static constexpr std::size_t index_of() {
    std::size_t index = 0;
    static_cast<void>(((std::is_same_v<S, Wanted> ? false : (++index, true)) && ...));
    return index;
  }
};

static_assert(
    Stages::all([]<class S>() {
      if constexpr (S::kHooks.has(Hook::number)) {
        return static_cast<std::size_t>(S::kNumber) < kStages;
      } else {
        return true;
      }
    }),
    "a stage's number has no bit: widen StageSet::Bits (decision.h), Transit::acted "
    "(transit.h) and the ledger's record (impair/record/binary_ledger.cpp), then kStages");

}  // namespace lw::emulator
