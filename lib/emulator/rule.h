// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/arrival.h"
#include "emulator/decision.h"
#include "emulator/rule_config.h"
#include "emulator/stages/loss.h"
#include "emulator/stats/fit.h"
#include "emulator/stats/rule_stats.h"

namespace lw::emulator {

/// Where a rule's frames wait: the line of those that keep their order, and the line of those that
/// are held back by a time.
struct RuleLines {
  LineIndex usual = 0, late = 0;
};

/// A rule's stages for one direction, ready to decide. Stages stand in the order of enum Stage; one
/// that the profile doesn't ask for isn't there. A decision follows from the frames and the times
/// that the rule was given, and from nothing else. One thread.
class Rule {
 public:
  Rule(const RuleConfig& config, Direction direction, std::uint64_t seed, RuleIndex index,
       RuleLines lines);

  /// What becomes of a frame that this rule is for; time never runs backwards.
  [[nodiscard]] Decision decide(const Arrival& arrival, const EventActions& aimed = {}) noexcept {
    Decision decision;
    decision.rule = index_;
    if (plain_ && aimed_at_nothing(aimed)) {
      if (loss_ && is_lost(arrival)) {
        decision.drop(Stage::loss);
      } else if (delay_) {
        decision.action = Action::queue;
        decision.stage = Stage::delay;
        decision.line = lines_.usual;
        decision.release = last_release_ = std::max(arrival.now + *delay_, last_release_);
      } else if (last_release_ > arrival.now) [[unlikely]] {
        follow(decision);
      }
      return decision;
    }
    decide_in_full(decision, arrival, aimed);
    return decision;
  }

  /// All that it does with a frame is to let it wait: waiting() but for the release, which
  /// releases() tells for many frames at once.
  [[nodiscard]] bool only_waits() const noexcept { return only_waits_; }
  [[nodiscard]] Decision waiting() const noexcept;
  /// The releases of frames that came in together, kMostTogether at most; `first` is the first
  /// one's number. What decide() would say of one after the other. Only where only_waits().
  static constexpr std::size_t kMostTogether = Jitter::kMostTogether;
  void releases(std::uint64_t first, Instant now, std::span<Instant> out) noexcept;

  /// Its stages go by more than the frame's number, length and time.
  [[nodiscard]] bool looks_at_headers() const noexcept {
    return mark_.has_value() || (corrupts_ && corrupter_.reads_headers());
  }

  /// The same for copy number `copy`, from 1, of a frame that decide() asked to copy: what the
  /// stages behind the duplicating one do to it.
  [[nodiscard]] Decision decide_copy(const Arrival& arrival, const Decision& original,
                                     std::uint32_t copy) noexcept;

  /// Those behind ask for `quanta` of silence: what waits in the queue is put off, and so must be
  /// what waits for its release on line() and is due after `after`. Nothing where it doesn't listen
  /// to its priority.
  [[nodiscard]] std::optional<QueueShift> pause(const wire::PfcFields& asked, Instant now) noexcept;
  [[nodiscard]] LineIndex line() const noexcept { return lines_.usual; }
  /// The silence that it asks those before it for now; 0 ends it.
  [[nodiscard]] std::optional<std::uint16_t> asks_for(Instant now) noexcept;
  /// When it must be asked again; Instant::max() while there is no pause.
  [[nodiscard]] Instant next_ask() noexcept {
    if (!watch_ || !watch_->asked()) return Instant::max();
    return std::min(watch_->next(), queue_->next_departure());
  }
  [[nodiscard]] std::uint8_t priority() const noexcept { return pfc_ ? pfc_->priority : 0; }

  /// Flips the bits of a frame for which Decision::corrupt was set.
  void corrupt(wire::MutableBytes frame, const Arrival& arrival) const noexcept {
    corrupter_.apply(frame, arrival.envelope, arrival.number);
  }

  /// Takes over from the rule of the same name that it is about to replace: what stages
  /// of unchanged configuration remember, and the promise that frames keep their order. Stages
  /// swap places and nothing is allocated, so `old` is fit for nothing but its end.
  void inherit(Rule& old, const RuleConfig& config, const RuleConfig& old_config) noexcept;

  [[nodiscard]] RuleIndex index() const noexcept { return index_; }
  /// Since its configuration, or its model of losses, last changed: to be held against these.
  [[nodiscard]] const RuleStats& stats() const noexcept { return stats_; }
  /// The same since the rule of this name was first there.
  [[nodiscard]] RuleStats totals() const noexcept {
    RuleStats all = earlier_;
    all.add(stats_);
    return all;
  }

 private:
  static bool aimed_at_nothing(const EventActions& aimed) noexcept {
    return aimed == EventActions{};
  }
  bool is_lost(const Arrival& arrival) noexcept {
    const bool lost = loss_->drops(arrival.number, arrival.bytes);
    stats_.loss.add(lost);
    const std::uint32_t step = arrival.bytes / RuleStats::kLengthStep;
    stats_.lengths[std::min(step, RuleStats::kLengths - 1)].add(arrival.bytes);
    return lost;
  }
  bool is_lost(const Arrival& arrival, const TraceConfig::Row* row) noexcept;
  bool is_policed(const Arrival& arrival) noexcept;
  void decide_in_full(Decision& decision, const Arrival& arrival,
                      const EventActions& aimed) noexcept;
  void go_on(Decision& decision, const Arrival& arrival, std::uint32_t copy,
             const TraceConfig::Row* row) noexcept;
  void mark(Decision& decision, const Arrival& arrival, std::uint32_t copy) noexcept;
  void count(const Red& red, std::uint64_t queued) noexcept;
  void wait(Decision& decision, const Arrival& arrival, std::uint32_t copy, Instant from,
            const TraceConfig::Row* row) noexcept;
  Instant wander_together(Instant nominal, Instant now, std::size_t frames) noexcept;
  void draw_together(std::uint64_t first, Instant nominal, Instant now,
                     std::span<Instant> out) noexcept;
  void put_in_order(std::span<Instant> releases) noexcept;
  /// Nothing delays any more, but what still waits from when something did goes before.
  void follow(Decision& decision) const noexcept {
    decision.action = Action::queue;
    decision.stage = Stage::delay;
    decision.line = kWheel;
    decision.release = last_release_;
  }
  [[gnu::cold, gnu::noinline]] void look_at_wandering(Instant t, double delay) noexcept;
  void inherit_counts(Rule& old, const RuleConfig& config, const RuleConfig& old_config) noexcept;
  void hold_back(Decision& decision, const Arrival& arrival, std::uint32_t copy) noexcept;

  RuleIndex index_;
  RuleLines lines_;
  bool plain_;  // nothing but loss and a constant delay
  bool only_waits_;
  bool keep_order_, delays_, corrupts_, outage_;
  std::optional<Duration> delay_;
  std::optional<Loss> loss_;
  std::optional<Policer> police_;
  Duration police_soon_{};  // see PoliceStats
  std::uint32_t police_overhead_ = 0, queue_overhead_ = 0;
  Corrupter corrupter_;
  std::optional<Duplicator> duplicate_;
  std::optional<Marker> mark_;
  std::optional<Red> red_;
  std::optional<Bottleneck> queue_;
  double queue_bps_ = 0;
  std::optional<PauseConfig> pfc_;
  std::optional<PauseWatch> watch_;
  Instant paused_until_{Duration::min()};
  std::optional<Jitter> jitter_;
  std::optional<FitBins> fit_;
  std::optional<Trace> trace_;
  std::optional<Reorderer> reorder_;
  Chance traced_loss_;
  // No frame that keeps its order leaves before this: when the last one does.
  Instant last_release_{Duration::min()};
  RuleStats stats_, earlier_;
};

}  // namespace lw::emulator
