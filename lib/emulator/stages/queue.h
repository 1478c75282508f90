// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "emulator/queue/pause_watch.h"
#include "emulator/queue/rules_queue.h"
#include "emulator/stage.h"
#include "emulator/stages/trace.h"
#include "wire/pfc.h"

namespace lw::emulator {

/// A link slower than the port, and the buffer in front of it, as a rule describes them.
struct QueueConfig {
  double rate_bps = 0;  // >= 1 kb/s
  // frames without FCS and overhead; 0 as long as a profile has only a rate and its delay, which
  // gives the buffer, is not read
  std::uint64_t buffer_bytes = 0;
  // bytes on the wire that each frame takes besides its own
  std::uint32_t overhead = kLineOverhead;
  std::uint32_t cell = 0, cell_overhead = 0;  // see LineCost
  std::optional<PauseConfig> pfc = {};

  [[nodiscard]] constexpr LineCost cost() const noexcept { return {overhead, cell, cell_overhead}; }
  friend bool operator==(const QueueConfig&, const QueueConfig&) = default;
  static const FigureTable& figures();
};

/// A rule's use of a queue: its own, one that it shares with other rules, or one of several
/// classes.
struct QueueUse {
  std::string owner;      // the rule that describes the queue; empty until it is known
  std::uint32_t cls = 0;  // the class of the rule's frames
  LineQueueConfig queue;  // the whole queue; 0 b/s until it is known
  std::vector<std::optional<PauseConfig>> pauses;  // by class

  [[nodiscard]] const PauseConfig* pfc() const noexcept {
    return cls < pauses.size() && pauses[cls] ? &*pauses[cls] : nullptr;
  }
  friend bool operator==(const QueueUse&, const QueueUse&) = default;
};

/// Settings of a class of a queue (QueueClassConfig).
const FigureTable& queue_class_settings();
/// The bytes of a turn, of queues with classes (LineQueueConfig).
const FigureTable& quantum_setting();

/// Counters of priority flow control at the emulated queue.
struct PauseStats {
  std::uint64_t asked = 0, ended = 0;  // frames sent that request a pause, and that end one
  std::uint64_t heard = 0;             // frames received that request a pause or end one
  std::int64_t silent_ns = 0;          // total requested time

  void add(const PauseStats& other) noexcept {
    asked += other.asked;
    ended += other.ended;
    heard += other.heard;
    silent_ns += other.silent_ns;
  }
  friend bool operator==(const PauseStats&, const PauseStats&) = default;
  static const FigureTable& figures();
};

/// A rule's stage: a link slower than the port, and the buffer in front of it, in which frames of
/// other rules and classes may wait too.
class Queue {
 public:
  static constexpr Stage kNumber = Stage::queue;
  static constexpr std::string_view kName = "queue";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = false;
  static constexpr HookSet kHooks = {
      Hook::number, Hook::apply,     Hook::begin,       Hook::varies, Hook::inherit,
      Hook::read,   Hook::settings,  Hook::describe,    Hook::audit,  Hook::figures,
      Hook::report, Hook::add_ample, Hook::bytes_needed};

  struct Settings {
    std::optional<QueueConfig> queue = {};  // the rule's own, or:
    std::optional<QueueUse> shared = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    ServiceStats service;  // of the whole queue
    PauseStats pauses;
    std::uint64_t tail_dropped = 0;  // dropped because the buffer was full
    std::uint64_t peak_queue_bytes = 0;
    void add(const Stats& other) noexcept {
      pauses.add(other.pauses);
      tail_dropped += other.tail_dropped;
      peak_queue_bytes = std::max(peak_queue_bytes, other.peak_queue_bytes);
    }
    static const FigureTable& figures();
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool varies(const RuleConfig& rule) noexcept { return present(rule); }
  /// The queue of a rule that has one, and the rule's class in it.
  static QueueUse use_of(const RuleConfig& rule);
  /// True if both rules have a queue, and it is the same class of the queue of one owner.
  static bool in_same_class(const RuleConfig& a, const RuleConfig& b) noexcept;
  Queue(const RuleConfig& rule, const StageSetup& setup);

  /// Frames that have left by now must be removed before.
  void begin(Passage& p, Stats& /*stats*/) noexcept { p.class_bytes = bytes(); }
  /// The frame waits here: see Action::wait.
  void apply(Passage& p, Stats& stats) noexcept {
    if (p.row) meet(p.row_index, *p.row);
    const RulesQueue::Waiting frame{
        .rule = rule_, .row = p.row_index, .extra = p.aimed.delay, .came = p.now};
    static_cast<void>(admit(p.decision, frame, p.bytes, stats));
  }
  /// Returns false if the frame finds no room, and is dropped. decision.release is its departure.
  bool admit(Decision& decision, const RulesQueue::Waiting& frame, std::uint32_t length,
             Stats& stats) noexcept {
    RulesQueue::Waiting* const place = queue_->frames.admit(cls_, length, frame.came);
    if (!place) [[unlikely]] {
      ++stats.tail_dropped;
      decision.drop(kNumber);
      return false;
    }
    *place = frame;
    queue_->watch.came(cls_, on_the_line(length, 0), frame.came);
    stats.peak_queue_bytes = std::max(stats.peak_queue_bytes, bytes());
    decision.act(kNumber);
    decision.action = Action::wait;
    decision.release = departure(frame.came);
    return true;
  }
  /// Admits frames that come together to the queue of one class, each of which is released `delay`
  /// after its departure. `held`: the bytes of each in the buffer. Returns false, and does nothing,
  /// unless all have room.
  bool admit_together(std::span<const std::uint32_t> held, Instant now, Duration delay,
                      std::span<Instant> releases, Stats& stats) noexcept;
  /// From now on this row of the rule's trace is in force.
  void meet(std::uint32_t index, const TraceRow& row) noexcept {
    row_ = index;
    row_bps_ = row.rate_bps;
    queue_->frames.set_rate(rate());
  }
  /// The frame that came last.
  [[nodiscard]] RulesQueue::Waiting& last() noexcept { return queue_->frames.last(cls_); }
  /// Removes the frame that came last. Its place stays until it would have left.
  void withdraw() noexcept { last().rule = kUntouched; }
  /// Takes over the requested pauses, and ends one that the class no longer obeys; frames leave at
  /// the rate of the trace's row in force, if trace or link have changed.
  void inherit(Queue& old, const RuleConfig& rule, const RuleConfig& old_rule,
               Instant now) noexcept;

  /// Applies a pause frame for the class, if it obeys them.
  void pause(const wire::PfcFields& asked, Instant now, Stats& stats) noexcept;
  /// Returns the pause to request now, in quanta; 0 ends an earlier one.
  std::optional<std::uint16_t> asks_for(Instant now) noexcept {
    return watch_ ? watch_->quanta_due(bytes(), now) : std::nullopt;
  }
  /// Counts a pause that is sent.
  static void count_pause(std::uint16_t quanta, Stats& stats) noexcept {
    ++(quanta > 0 ? stats.pauses.asked : stats.pauses.ended);
  }
  /// Whether a pause was requested and not ended.
  [[nodiscard]] bool pausing() const noexcept { return watch_ && watch_->asked(); }
  /// Bytes in the class.
  [[nodiscard]] std::uint64_t bytes() const noexcept { return queue_->frames.bytes(cls_); }
  /// When asks_for() must be called again; Instant::max() while there is no pause.
  [[nodiscard]] Instant next_ask() const noexcept {
    if (!pausing()) return Instant::max();
    return std::min(watch_->next(), queue_->frames.next_event());
  }
  [[nodiscard]] std::uint8_t priority() const noexcept { return pfc_ ? pfc_->priority : 0; }
  [[nodiscard]] RulesQueue& queue() const noexcept { return *queue_; }

  /// Reads the key `queue`, also where it is a use of a shared queue or has classes.
  static void read(const StageKeys& rule, RuleConfig& config);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static const FigureTable& figures();
  static void report(const RuleStats& stats, StageLines& lines);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;
  static std::uint64_t bytes_needed(const RuleConfig& rule);

 private:
  /// The rate of the link under the row in force.
  [[nodiscard]] std::uint64_t rate() const noexcept;
  /// When the frame that has just come leaves if nothing changes; an estimate with several classes.
  [[nodiscard]] Instant departure(Instant now) const noexcept {
    if (queue_->frames.is_fifo()) return queue_->frames.last_departure();
    const double wait = static_cast<double>(bytes()) * ns_per_byte_;
    return now + Duration{static_cast<Duration::rep>(wait)};
  }

  std::shared_ptr<RulesQueue> queue_;
  std::uint32_t cls_;
  RuleIndex rule_;
  double ns_per_byte_;
  std::uint32_t row_ = kNoRow;     // the trace's row in force,
  std::optional<double> row_bps_;  // and its rate
  std::optional<PauseConfig> pfc_;
  std::optional<PauseWatch> watch_;
};

}  // namespace lw::emulator
