// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "emulator/decision.h"
#include "emulator/match/match.h"
#include "emulator/rule_config.h"
#include "emulator/stats/rule_stats.h"

namespace lw::emulator {

/// A rule's stages for one direction, ready to decide. A decision depends only on the frames and
/// times that the rule was given. One thread.
class Rule {
 public:
  Rule(const RuleConfig& config, const StageSetup& setup, RuleIndex index);

  /// Decides on a frame that the rule matches. Time never runs backwards.
  [[nodiscard]] Decision decide(const IngressFrame& arrival,
                                const EventActions& aimed = {}) noexcept {
    Decision decision;
    decision.rule = index_;
    if (short_path_ && aimed == EventActions{}) {
      if (loses_ && stage<Loss>()->drops(arrival.number, arrival.bytes, stats_)) {
        decision.drop(Stage::loss);
      } else {
        stage<Delay>()->apply_constant(decision, arrival.now);
      }
      return decision;
    }
    if (queue_path_ && aimed == EventActions{}) {
      let_depart(arrival.now);
      if (stage<Queue>()->admit(decision, {.rule = index_, .came = arrival.now}, arrival.bytes,
                                stats_))
        decision.release += stage<Delay>()->nominal();
      ++stats_.acted[static_cast<std::size_t>(Stage::queue)];
      return decision;
    }
    decide_in_full(decision, arrival, aimed);
    return decision;
  }

  /// True if the rule decides about whole batches: batch_decision() for all frames, and releases().
  [[nodiscard]] bool acts_on_batch() const noexcept { return acts_on_batch_; }
  /// The decision about each frame of a batch, without its release.
  [[nodiscard]] Decision batch_decision() const noexcept;
  /// Computes the releases of a batch of at most kMostTogether frames that came in at `now`;
  /// `first` is the number of its first frame. Gives the same result as decide() for each frame in
  /// order.
  static constexpr std::size_t kMostTogether = Delay::kMostTogether;
  void releases(std::uint64_t first, Instant now, std::span<Instant> out) noexcept;
  /// Like releases(), for frames that wait in the rule's queue; `held`: the bytes of each there.
  /// Returns false, and does nothing, unless all have room, and knows_release().
  [[nodiscard]] bool queue_together(std::span<const std::uint32_t> held, Instant now,
                                    std::span<Instant> out) noexcept;

  /// True if decisions depend only on a frame's number, length and time, so that frames needn't be
  /// opened.
  [[nodiscard]] bool header_independent() const noexcept { return header_independent_; }

  /// Decides about copy `copy` (from 1) of a frame that decide() asked to copy: applies the stages
  /// after the duplicating one.
  [[nodiscard]] Decision decide_copy(const IngressFrame& arrival, const Decision& original,
                                     std::uint32_t copy) noexcept;

  /// The queue in which frames of the rule wait; null if it has none.
  [[nodiscard]] RulesQueue* queue() const noexcept {
    return stage<Queue>() ? &stage<Queue>()->queue() : nullptr;
  }
  /// Counts a frame of the rule that has left its queue: see RulesQueue::depart().
  void count_departure(const RulesQueue::Waiting& frame, std::uint64_t busy_bytes) noexcept {
    served_ = true;
    if (frame.row != kNoRow) stats_.rows[frame.row].busy_bytes += busy_bytes;
    if (frame.release != RulesQueue::kUndecided) stage<Delay>()->finalize(frame.release);
  }
  /// Decides about a frame of the rule that has left its queue: applies the stages after the queue.
  [[nodiscard]] Decision depart(const RulesQueue::Frames::SentFrame& sent, std::uint64_t number,
                                std::uint32_t copy, const roce::Envelope& envelope) noexcept;
  /// True if a stage acts on frames that leave the queue: depart() then needs their envelopes, and
  /// may ask for a mark.
  [[nodiscard]] bool acts_on_leaving() const noexcept { return acts_on_leaving_; }
  /// Removes the frame from the queue that decide() or decide_copy() has just let wait.
  void withdraw() noexcept { stage<Queue>()->withdraw(); }
  /// For callers whose configuration never changes, and which don't pause queues: decides at once
  /// about a frame that decide() or decide_copy() let wait.
  void pass_queue(Decision& decision, const IngressFrame& arrival, std::uint32_t copy = 0) noexcept;
  /// True if a frame that decide() lets wait has a known release, decision.release, as long as
  /// nothing changes: behind a queue of one class, which obeys no pauses, is only a constant delay.
  [[nodiscard]] bool knows_release() const noexcept {
    return knows_release_ && queue()->frames.is_fifo() && !queue()->obeys_pauses;
  }
  /// Decides at once that the frame which decide() has just let wait has this release: see
  /// knows_release(). Does nothing if the release is not as it seemed, because an event delays the
  /// frame, or order was kept behind frames of an earlier configuration.
  void release_on_arrival(Decision& decision) noexcept {
    RulesQueue::Waiting& frame = stage<Queue>()->last();
    if (frame.extra != Duration{} || !stage<Delay>()->release_at(decision)) return;
    frame.release = decision.release;
  }
  /// Takes all such decisions back about frames in the queue.
  void take_back() noexcept {
    stage<Delay>()->take_back();
    queue()->frames.for_each([this](RulesQueue::Waiting& frame) {
      if (frame.rule == index_) frame.release = RulesQueue::kUndecided;
    });
  }
  /// The earliest release of a frame that comes at `now`. Requires knows_release().
  [[nodiscard]] Instant earliest_release(Instant now) const noexcept {
    return queue()->frames.earliest_departure(now) + stage<Delay>()->nominal();
  }
  /// The FIFO in which frames wait for their release.
  [[nodiscard]] FifoIndex line() const noexcept { return stage<Delay>()->line(); }

  /// Applies a pause frame for the rule's queue. Requires that the rule has one.
  void pause(const wire::PfcFields& asked, Instant now) noexcept {
    stage<Queue>()->pause(asked, now, stats_);
  }
  /// Counts a pause that is sent for the rule's queue.
  void count_pause(std::uint16_t quanta) noexcept { Queue::count_pause(quanta, stats_); }
  /// The pauses that the rule's queue requests. Requires that the rule has one.
  [[nodiscard]] Queue& queue_stage() noexcept { return *stage<Queue>(); }
  [[nodiscard]] const Queue& queue_stage() const noexcept { return *stage<Queue>(); }
  /// Counts frames that were held together and leave `waited` after the release of the first.
  void count_group(std::uint64_t size, bool is_full, Duration waited) noexcept {
    stats_.gathered.add_group(size, is_full, waited);
  }
  /// Bytes in the rule's queue; nothing if it has none.
  [[nodiscard]] std::optional<std::uint64_t> queued_bytes() const noexcept {
    return stage<Queue>() ? std::optional(stage<Queue>()->bytes()) : std::nullopt;
  }

  /// Sets where the number of the rule's frames that wait or are delayed is, for a stage that
  /// limits them. It must outlive the rule; without it, there are none.
  void use(const std::uint64_t& inside) noexcept { inside_ = &inside; }

  /// Flips the bits of a frame whose Decision::corrupt is set.
  void corrupt(wire::MutableBytes frame, const IngressFrame& arrival) const noexcept {
    if (corrupts_inside_) return corrupt_inside(frame, arrival);
    corrupter_.apply(frame, arrival.envelope, arrival.number);
  }

  /// Takes over the state of the rule of the same name that is replaced at `now`: that of stages
  /// with unchanged configuration, the frames in the queue, the policer's tokens, and the order of
  /// frames. Allocates nothing. `old` must exist until then.
  void inherit(Rule& old, const RuleConfig& config, const RuleConfig& old_config,
               Instant now) noexcept;

  [[nodiscard]] RuleIndex index() const noexcept { return index_; }
  /// Counters since the rule's configuration, or its loss model, last changed: for audit().
  [[nodiscard]] RuleStats stats() const {
    RuleStats all = stats_;
    if (served_) all.service = queue()->watch.stats();
    return all;
  }
  /// Counters since a rule of this name first existed.
  [[nodiscard]] RuleStats totals() const noexcept {
    RuleStats all = earlier_;
    all.add(stats_);
    return all;
  }

 private:
  template <class S>
  std::optional<S>& stage() noexcept {
    return std::get<std::optional<S>>(stages_);
  }
  template <class S>
  const std::optional<S>& stage() const noexcept {
    return std::get<std::optional<S>>(stages_);
  }
  template <class S>
  static constexpr std::uint32_t bit_of() noexcept {
    static_assert(Stages::kCount <= 32);
    return std::uint32_t{1} << Stages::index_of<S>();
  }
  template <std::size_t First>
  void pass(Passage& passage, const roce::Envelope& envelope) noexcept;
  template <class S>
  bool apply(Passage& passage, const roce::Envelope& envelope) noexcept;
  template <class S>
  [[nodiscard]] bool pauses(const Passage& passage) const noexcept;
  void begin(Passage& passage) noexcept;
  void corrupt_inside(wire::MutableBytes frame, const IngressFrame& arrival) const noexcept;
  void leave(Passage& passage, const roce::Envelope& envelope) noexcept;
  void decide_in_full(Decision& decision, const IngressFrame& arrival,
                      const EventActions& aimed) noexcept;
  void decide_behind_queue(Passage& passage, const RulesQueue::Waiting& frame,
                           const roce::Envelope& envelope) noexcept;
  void let_depart(Instant now) noexcept {
    if (queue() && queue()->frames.next_event() <= now) let_depart_due(now);
  }
  void let_depart_due(Instant now) noexcept;
  static void put_off(Decision& decision, Instant from, Duration by) noexcept;

  RuleIndex index_;
  bool short_path_, loses_, acts_on_batch_, header_independent_, acts_on_leaving_, knows_release_;
  bool queue_path_;            // the rule has only a queue and a constant delay
  bool corrupts_inside_;       // the packet within a tunnel
  bool served_ = false;        // a frame has left the queue while stats_ counted
  std::uint32_t present_ = 0;  // the stages that the rule has: pass() does not look at the others
  Stages::Storage stages_;
  Schedules when_;
  std::optional<Instant> first_;  // arrival of the rule's first frame, if a schedule asks for it
  Corrupter corrupter_;
  const std::uint64_t* inside_ = nullptr;
  RuleStats stats_, earlier_;
};

}  // namespace lw::emulator
