// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/quantity.h"
#include "core/time.h"
#include "emulator/stages/loss.h"
#include "emulator/stages/stage.h"

namespace lw::emulator {

/// A row of a trace.
struct TraceRow {
  Duration time{};                 // since the rule's first frame
  std::optional<Duration> delay;   // in place of the rule's own
  std::optional<double> loss;      // probability, in place of the rule's own
  std::optional<double> rate_bps;  // of the rule's queue
  friend bool operator==(const TraceRow&, const TraceRow&) = default;
};

/// A path's recorded course: each row's values hold from its time until the next row's.
struct TraceConfig {
  using Row = TraceRow;
  std::vector<Row> rows;  // not empty, times rising from 0
  /// The trace begins again after this time; none: the last row holds for ever.
  std::optional<Duration> period;
  friend bool operator==(const TraceConfig&, const TraceConfig&) = default;
};

/// A CSV file with the columns `time` and some of `delay`, `loss`, `rate`, named in its heading.
/// An empty field keeps the rule's own value. Times rise, from 0.
Parsed<TraceConfig> parse_trace(std::string_view csv);

/// What happened while a row was in force.
struct RowStats {
  std::uint64_t frames = 0;      // whose loss was the row's
  std::uint64_t busy_bytes = 0;  // on the line, of frames that left right behind others
};

/// Replays a recorded course of delay, loss and rate. It tells the other stages which row is in
/// force. O(1) a frame.
class Trace {
 public:
  static constexpr std::string_view kName = "trace";
  static constexpr bool kActsOnBatch = false;

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
    p.row_stats = &stats.rows[row_];
    p.traced = &stats.traced;
  }
  void inherit(Trace& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void add_floor(const RuleConfig& rule, AmpleDelay& ample) noexcept;

 private:
  /// The row in force at `now`, which never falls.
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
