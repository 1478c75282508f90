// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/time.h"
#include "emulator/stages/stage.h"
#include "emulator/stats/draw_stats.h"
#include "emulator/stats/wander_stats.h"

namespace lw::emulator {

/// Losses as a stage saw them: how many, and how many in a row.
struct LossStats {
  static constexpr std::size_t kRuns = 64;

  std::uint64_t frames = 0, lost = 0;
  /// How many runs of 1, 2, ... lost frames ended; the last counts all longer ones.
  std::array<std::uint64_t, kRuns> runs{};
  std::uint64_t run = 0;  // of the one that is on

  void add(bool is_lost) noexcept {
    ++frames;
    if (is_lost) {
      ++lost;
      ++run;
    } else if (run > 0) {
      ++runs[std::min<std::uint64_t>(run, kRuns) - 1];
      run = 0;
    }
  }
  void add(const LossStats& other) noexcept {
    frames += other.frames;
    lost += other.lost;
    for (std::size_t i = 0; i < kRuns; ++i) runs[i] += other.runs[i];
  }
};

/// Frames of like lengths.
struct LengthStats {
  std::uint64_t frames = 0, bytes = 0;

  void add(std::uint32_t length) noexcept {
    ++frames;
    bytes += length;
  }
};

/// A policer's frames. Between two drops that follow each other closely its bucket can't have been
/// full, so what it let through meanwhile is its rate's worth, but for a frame at each end.
struct PoliceStats {
  std::uint64_t frames = 0, dropped = 0;
  // All stretches from a drop to the next such drop, together.
  std::uint64_t stretches = 0, passed_bytes = 0, passing_ns = 0;
  std::uint64_t largest_cost = 0;

  /// `soon`: how long a bucket that couldn't pay for a frame needs at least to fill up.
  void add(std::uint32_t cost, bool conforms, Instant now, Duration soon) noexcept {
    ++frames;
    largest_cost = std::max<std::uint64_t>(largest_cost, cost);
    if (conforms) {
      since_drop_ += cost;
      return;
    }
    if (dropped++ > 0 && now - last_drop_ < soon) {
      if (!in_stretch_) ++stretches;
      passed_bytes += since_drop_;
      passing_ns += static_cast<std::uint64_t>((now - last_drop_).count());
      in_stretch_ = true;
    } else {
      in_stretch_ = false;
    }
    last_drop_ = now;
    since_drop_ = 0;
  }

 private:
  Instant last_drop_{};
  std::uint64_t since_drop_ = 0;
  bool in_stretch_ = false;
};

/// The emulated queue's departures: those right behind each other are as far apart as the link's
/// rate makes them.
struct QueueStats {
  std::uint64_t frames = 0, busy_frames = 0, busy_bytes = 0, busy_ns = 0, busy_periods = 0;

  /// Whether it left right behind another.
  bool add(std::uint32_t line_bytes, Instant now, Instant departs) noexcept {
    const bool behind_another = frames++ > 0 && last_ > now;
    if (behind_another) {
      if (!busy_) ++busy_periods;
      ++busy_frames;
      busy_bytes += line_bytes;
      busy_ns += static_cast<std::uint64_t>((departs - last_).count());
    }
    busy_ = behind_another;
    last_ = departs;
    return busy_;
  }
  /// A pause came: the waiting frames' departures are moved together, and where none waits the
  /// next one isn't right behind another.
  void put_off(Duration by) noexcept { last_ = by == Duration{} ? Instant{} : last_ + by; }

 private:
  Instant last_{};
  bool busy_ = false;
};

/// What RED saw: frames that came when the buffer was between its thresholds, with the bytes that
/// were in it, and frames that came when it was fuller.
struct RedStats {
  std::uint64_t between = 0, bytes_between = 0, above = 0;
};

/// Flow control by priority at the emulated queue.
struct PauseStats {
  std::uint64_t asked = 0, ended = 0;  // frames that asked for silence, and for the end of it
  std::uint64_t heard = 0;             // frames that asked the queue for either
  std::int64_t silent_ns = 0;          // how long they asked for in all

  void add(const PauseStats& other) noexcept {
    asked += other.asked;
    ended += other.ended;
    heard += other.heard;
    silent_ns += other.silent_ns;
  }
  friend bool operator==(const PauseStats&, const PauseStats&) = default;
};

/// What happened while a trace's row held.
struct RowStats {
  std::uint64_t frames = 0;      // whose loss was the row's
  std::uint64_t busy_bytes = 0;  // of line, by which the queue's frames left right behind others
};

/// What a rule's stages did: written by the data path's thread, for reports.
struct RuleStats {
  std::array<std::uint64_t, kStages> acted{};  // frames (and copies) that each stage acted on
  LossStats loss;                              // by the rule's own model,
  LossStats traced;                            // and by its trace
  std::vector<RowStats> rows;                  // of the trace
  /// Frames that came to the rule's own model of losses by their length, in steps of 64 B; the last
  /// has all longer.
  static constexpr std::uint32_t kLengthStep = 64, kLengths = 160;
  std::array<LengthStats, kLengths> lengths{};
  PoliceStats police;
  QueueStats queue;
  PauseStats pauses;
  RedStats red;
  std::uint64_t corruptible = 0;  // frames that came to the stages of
  std::uint64_t duplicable = 0;   // these names
  std::uint64_t markable = 0;
  std::uint64_t chosen_to_mark = 0;  // by chance or the queue, whatever their headers said
  std::uint64_t not_ect = 0;         // would have been marked, but did not say ECT
  std::uint64_t tail_dropped = 0;    // found the emulated queue full
  std::uint64_t peak_queue_bytes = 0;
  DrawStats jitter;
  WanderStats wander;
  std::array<std::uint64_t, 16> fit{};  // of every 16th draw, or the samples, by bin; see FitBins
  std::uint64_t moved_for_order = 0;    // releases that were put off to keep the order,
  std::uint64_t moved_ns = 0;           // by so much in all
  std::uint64_t reorderable = 0;

  [[nodiscard]] std::uint64_t by(Stage stage) const noexcept {
    return acted[static_cast<std::size_t>(stage)];
  }
  void add(const RuleStats& other) noexcept;
  /// Frames went by all stages, and their delays were drawn.
  void count_waiting(std::uint64_t frames) noexcept {
    corruptible += frames;
    duplicable += frames;
    acted[static_cast<std::size_t>(Stage::delay)] += frames;
  }
  void count(StageSet stages) noexcept {
    for (unsigned left = stages.bits(); left != 0; left &= left - 1)
      ++acted[static_cast<std::size_t>(std::countr_zero(left))];
  }
};

inline void RuleStats::add(const RuleStats& other) noexcept {
  for (std::size_t i = 0; i < kStages; ++i) acted[i] += other.acted[i];
  loss.add(other.loss);
  traced.add(other.traced);
  corruptible += other.corruptible;
  duplicable += other.duplicable;
  markable += other.markable;
  chosen_to_mark += other.chosen_to_mark;
  not_ect += other.not_ect;
  tail_dropped += other.tail_dropped;
  pauses.add(other.pauses);
  peak_queue_bytes = std::max(peak_queue_bytes, other.peak_queue_bytes);
  jitter.add(other.jitter);
  moved_for_order += other.moved_for_order;
  moved_ns += other.moved_ns;
  reorderable += other.reorderable;
}

}  // namespace lw::emulator
