// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/quantity.h"
#include "core/time.h"
#include "emulator/stage.h"
#include "emulator/stages/loss.h"

namespace lw::emulator {

/// A row of a trace.
struct TraceRow {
  Duration time{};                 // since the rule's first frame
  std::optional<Duration> delay;   // replaces the rule's own
  std::optional<double> loss;      // probability; replaces the rule's own
  std::optional<double> rate_bps;  // of the rule's queue
  friend bool operator==(const TraceRow&, const TraceRow&) = default;
};

/// A recorded path: each row's values apply from its time until the next row's.
struct TraceConfig {
  using Row = TraceRow;
  std::vector<Row> rows;  // not empty; times ascend from 0
  /// The trace restarts after this time; none: the last row applies for ever.
  std::optional<Duration> period;
  friend bool operator==(const TraceConfig&, const TraceConfig&) = default;
};

/// Parses a CSV file with the columns `time` and some of `delay`, `loss`, `rate`, which its heading
/// names. An empty field keeps the rule's own value. Times ascend from 0.
Parsed<TraceConfig> parse_trace(std::string_view csv);

/// Counters of the time in which a row was in force.
struct RowStats {
  std::uint64_t frames = 0;      // frames to which the row's loss was applied
  std::uint64_t busy_bytes = 0;  // bytes on the wire of frames that left directly after others
};

/// Replays a recorded delay, loss and rate. Provides the row in force to the other stages. O(1) per
/// frame.
class Trace {
 public:
  static constexpr std::string_view kName = "trace";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = false;
  static constexpr HookSet kHooks = {Hook::begin, Hook::varies,   Hook::inherit,  Hook::prepare,
                                     Hook::read,  Hook::describe, Hook::add_floor};

  struct Settings {
    std::optional<TraceConfig> trace = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    LossStats traced;            // losses by the trace
    std::vector<RowStats> rows;  // one for each row
    void add(const Stats& other) noexcept { traced.add(other.traced); }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool varies(const RuleConfig& rule) noexcept { return present(rule); }
  Trace(const RuleConfig& rule, const StageSetup& setup);
  static void prepare(const RuleConfig& rule, Stats& stats);

  void begin(Passage& p, Stats& stats) noexcept {
    p.row = &at(p.now);
    p.row_index = static_cast<std::uint32_t>(row_);
    p.row_stats = &stats.rows[row_];
    p.traced = &stats.traced;
  }
  /// The index of the row in force at `now`; none before the rule's first frame.
  std::optional<std::uint32_t> row_at(Instant now) noexcept {
    if (!begin_) return std::nullopt;
    static_cast<void>(at(now));
    return static_cast<std::uint32_t>(row_);
  }
  /// Like begin(), for a frame that came in while the row with this index was in force.
  void begin_again(Passage& p, Stats& stats, std::uint32_t row) const noexcept {
    if (row == kNoRow) return;
    p.row = &config_.rows[row];
    p.row_index = row;
    p.row_stats = &stats.rows[row];
  }
  void inherit(Trace& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void add_floor(const RuleConfig& rule, AmpleDelay& ample) noexcept;

 private:
  /// Returns the row in force at `now`, which never decreases.
  const TraceRow& at(Instant now) noexcept {
    if (!begin_) begin_ = now;
    while (config_.period && now - *begin_ >= *config_.period) {
      const auto periods = (now - *begin_) / *config_.period;
      *begin_ += periods * *config_.period;
      row_ = 0;
    }
    const auto& rows = config_.rows;
    while (row_ + 1 < rows.size() && rows[row_ + 1].time <= now - *begin_) ++row_;
    return rows[row_];
  }

  TraceConfig config_;
  std::optional<Instant> begin_;
  std::size_t row_ = 0;
};

}  // namespace lw::emulator
