// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "emulator/queue/bottleneck.h"
#include "emulator/stage.h"
#include "emulator/stages/trace.h"
#include "emulator/stats/queue_stats.h"
#include "wire/pfc.h"

namespace lw::emulator {

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

/// A rule's stage: a link slower than the port, and the buffer in front of it.
class Queue {
 public:
  static constexpr Stage kNumber = Stage::queue;
  static constexpr std::string_view kName = "queue";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = false;
  static constexpr HookSet kHooks = {Hook::number,   Hook::apply,     Hook::begin,
                                     Hook::varies,   Hook::inherit,   Hook::read,
                                     Hook::describe, Hook::audit,     Hook::figures,
                                     Hook::report,   Hook::add_ample, Hook::bytes_needed};

  struct Settings {
    std::optional<BottleneckConfig> queue = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    QueueStats queue;
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
  Queue(const RuleConfig& rule, const StageSetup& setup);

  void begin(Passage& p, Stats& /*stats*/) noexcept { p.queue = &bottleneck_; }
  /// The frame waits here: see Action::wait.
  void apply(Passage& p, Stats& stats) noexcept {
    if (p.row) meet(p.row_index, *p.row);
    const auto departs = bottleneck_.enqueue(p.bytes, p.now, p.row_index, p.aimed.delay);
    if (!departs) {
      ++stats.tail_dropped;
      return p.decision.drop(kNumber);
    }
    stats.peak_queue_bytes = std::max(stats.peak_queue_bytes, bottleneck_.occupancy(p.now));
    p.decision.act(kNumber);
    p.decision.action = Action::wait;
    p.decision.release = *departs;
  }
  /// From now on this row of the rule's trace is in force.
  void meet(std::uint32_t index, const TraceRow& row) noexcept {
    row_ = index;
    row_bps_ = row.rate_bps;
    bottleneck_.set_rate(row_bps_.value_or(rate_bps_));
  }
  /// The frame that departs next: the caller removes it with pop(). The frame that came last.
  /// Require next_departure() < Bottleneck::kNever.
  [[nodiscard]] const Bottleneck::Frame& front() const noexcept { return bottleneck_.front(); }
  [[nodiscard]] const Bottleneck::Frame& back() const noexcept { return bottleneck_.back(); }
  void pop() noexcept { bottleneck_.pop(); }
  /// Removes the frame that came last.
  void withdraw() noexcept { bottleneck_.withdraw(); }
  [[nodiscard]] Instant next_departure() const noexcept { return bottleneck_.next_departure(); }
  /// Counts a frame that departs, and came in at `came`.
  void count(const Bottleneck::Frame& frame, Instant came, Stats& stats,
             RowStats* row) const noexcept {
    const std::uint64_t on_line = cost_.of(frame.bytes);
    if (stats.queue.add(on_line, came, frame) && row) row->busy_bytes += on_line;
  }
  void inherit(Queue& old, const RuleConfig& rule, const RuleConfig& old_rule,
               Instant now) noexcept;

  /// Applies a pause frame for the queue, if it obeys them.
  void pause(const wire::PfcFields& asked, Instant now, Stats& stats) noexcept;
  /// Returns the pause to request now, in quanta; 0 ends an earlier one.
  std::optional<std::uint16_t> asks_for(Instant now) noexcept;
  /// Counts a pause that is sent.
  static void count_pause(std::uint16_t quanta, Stats& stats) noexcept {
    ++(quanta > 0 ? stats.pauses.asked : stats.pauses.ended);
  }
  /// Whether a pause was requested and not ended.
  [[nodiscard]] bool pausing() const noexcept { return watch_ && watch_->asked(); }
  /// Bytes in the buffer.
  [[nodiscard]] std::uint64_t bytes_at(Instant now) const noexcept {
    return bottleneck_.occupancy_at(now);
  }
  /// When asks_for() must be called again; Instant::max() while there is no pause.
  [[nodiscard]] Instant next_ask() const noexcept {
    if (!pausing()) return Instant::max();
    return std::min(watch_->next(), bottleneck_.next_departure());
  }
  [[nodiscard]] std::uint8_t priority() const noexcept { return pfc_ ? pfc_->priority : 0; }

  /// Reads the key `queue`, also where it is a use of a shared queue or has classes.
  static void read(const StageKeys& rule, RuleConfig& config);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static const FigureTable& figures();
  static void report(const RuleStats& stats, StageLines& lines);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;
  static std::uint64_t bytes_needed(const RuleConfig& rule) noexcept;

 private:
  Bottleneck bottleneck_;
  double rate_bps_;
  std::uint32_t row_ = kNoRow;     // the trace's row in force,
  std::optional<double> row_bps_;  // and its rate
  LineCost cost_;
  std::optional<PauseConfig> pfc_;
  std::optional<PauseWatch> watch_;
};

/// ", pauses of priority 3 sent from 600 kB on down to 400 kB and honoured".
std::string pause_text(const PauseConfig& pfc);
/// Adds the check of a queue's rate while frames left directly after each other. `asked_ns`: the
/// time that their bytes take.
void audit_busy(const QueueStats& seen, double asked_ns, std::vector<Check>& checks);

}  // namespace lw::emulator
