// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "emulator/queue/pause_watch.h"
#include "emulator/stage.h"
#include "emulator/stages/queue.h"
#include "emulator/stats/rules_queue.h"

namespace lw::emulator {

/// A rule's use of a queue that it shares with other rules, or that has several classes.
struct QueueUse {
  std::string owner;        // the rule that describes the queue; empty until it is known
  std::uint32_t cls = 0;    // the class of the rule's frames
  SharedQueueConfig queue;  // the whole queue; 0 b/s until it is known
  std::vector<std::optional<PauseConfig>> pauses;  // by class

  [[nodiscard]] const PauseConfig* pfc() const noexcept {
    return cls < pauses.size() && pauses[cls] ? &*pauses[cls] : nullptr;
  }
  friend bool operator==(const QueueUse&, const QueueUse&) = default;
};

/// A rule's stage: a class of a queue, in which frames of other rules wait too. It has the number,
/// the key and the counters of the stage `queue`, whose place it takes.
class QueueClass {
 public:
  static constexpr std::string_view kName = Queue::kName;
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = false;
  static constexpr HookSet kHooks = {Hook::apply,     Hook::begin,       Hook::varies,
                                     Hook::inherit,   Hook::describe,    Hook::audit,
                                     Hook::add_ample, Hook::bytes_needed};

  struct Settings {
    std::optional<QueueUse> shared = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    ServiceStats service;  // of the whole queue
    void add(const Stats& /*other*/) noexcept {}
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool varies(const RuleConfig& rule) noexcept { return present(rule); }
  QueueClass(const RuleConfig& rule, const StageSetup& setup);

  void begin(Passage& p, Queue::Stats& /*stats*/) noexcept {
    p.class_bytes = queue_->frames.bytes(cls_);
  }
  /// The frame waits here: see Action::wait.
  void apply(Passage& p, Queue::Stats& stats) noexcept {
    if (!queue_->frames.enqueue(cls_, p.bytes, {rule_, p.row_index, p.aimed.delay, p.now}, p.now)) {
      ++stats.tail_dropped;
      return p.decision.drop(Queue::kNumber);
    }
    queue_->watch.came(cls_, on_the_line(p.bytes, 0), p.now);
    const std::uint64_t bytes = queue_->frames.bytes(cls_);
    stats.peak_queue_bytes = std::max(stats.peak_queue_bytes, bytes);
    p.decision.act(Queue::kNumber);
    p.decision.action = Action::wait;
    p.decision.release =
        p.now + Duration{static_cast<Duration::rep>(static_cast<double>(bytes) * ns_per_byte_)};
  }
  /// Removes the frame that came last. Its place stays until it would have left.
  void withdraw() noexcept { queue_->frames.last(cls_).rule = kUntouched; }
  /// Takes over the requested pauses, and ends one that the class no longer obeys.
  void inherit(QueueClass& old, const RuleConfig& rule, const RuleConfig& old_rule,
               Instant now) noexcept;

  void pause(const wire::PfcFields& asked, Instant now, Queue::Stats& stats) noexcept;
  std::optional<std::uint16_t> asks_for(Instant now) noexcept {
    return watch_ ? watch_->quanta_due(queue_->frames.bytes(cls_), now) : std::nullopt;
  }
  [[nodiscard]] bool pausing() const noexcept { return watch_ && watch_->asked(); }
  [[nodiscard]] Instant next_ask() const noexcept {
    return pausing() ? std::min(watch_->next(), queue_->frames.next_event()) : Instant::max();
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return queue_->frames.bytes(cls_); }
  [[nodiscard]] std::uint8_t priority() const noexcept { return pfc_ ? pfc_->priority : 0; }
  [[nodiscard]] const RulesQueue* queue() const noexcept { return queue_; }
  [[nodiscard]] std::uint32_t cls() const noexcept { return cls_; }

  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;
  static std::uint64_t bytes_needed(const RuleConfig& rule) noexcept;

 private:
  RulesQueue* queue_;
  std::uint32_t cls_;
  RuleIndex rule_;
  double ns_per_byte_;
  std::optional<PauseConfig> pfc_;
  std::optional<PauseWatch> watch_;
};

}  // namespace lw::emulator
