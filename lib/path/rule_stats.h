// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "path/stages/stage.h"

namespace lw::path {

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

/// Delays as they were drawn, ns: enough for mean and deviation.
struct DrawStats {
  std::uint64_t count = 0;
  double mean = 0, squares = 0;  // squares: of the distances from the mean, summed (Welford)

  void add(double value) noexcept {
    ++count;
    const double distance = value - mean;
    mean += distance / static_cast<double>(count);
    squares += distance * (value - mean);
  }
  /// Chan's sum of two samples.
  void add(const DrawStats& other) noexcept {
    if (other.count == 0) return;
    const auto mine = static_cast<double>(count), its = static_cast<double>(other.count);
    const double distance = other.mean - mean;
    count += other.count;
    mean += distance * its / (mine + its);
    squares += other.squares + distance * distance * mine * its / (mine + its);
  }
};

/// What a rule's stages did: written by the data path's thread, for reports.
struct RuleStats {
  std::array<std::uint64_t, kStages> acted{};  // frames (and copies) that each stage acted on
  LossStats loss;
  std::uint64_t corruptible = 0;  // frames that came to the stages of
  std::uint64_t duplicable = 0;   // these names
  std::uint64_t markable = 0;
  std::uint64_t chosen_to_mark = 0;  // by chance or the queue, whatever their headers said
  std::uint64_t not_ect = 0;         // would have been marked, but did not say ECT
  std::uint64_t tail_dropped = 0;    // found the emulated queue full
  std::uint64_t peak_queue_bytes = 0;
  DrawStats jitter;
  std::uint64_t moved_for_order = 0;  // releases that were put off to keep the order,
  std::uint64_t moved_ns = 0;         // by so much in all
  std::uint64_t reorderable = 0;

  [[nodiscard]] std::uint64_t by(Stage stage) const noexcept {
    return acted[static_cast<std::size_t>(stage)];
  }
  void add(const RuleStats& other) noexcept;
  void count(StageSet stages) noexcept {
    if (stages.empty()) return;
    for (std::size_t i = 0; i < kStages; ++i)
      acted[i] += stages.has(static_cast<Stage>(i)) ? 1U : 0U;
  }
};

inline void RuleStats::add(const RuleStats& other) noexcept {
  for (std::size_t i = 0; i < kStages; ++i) acted[i] += other.acted[i];
  loss.add(other.loss);
  corruptible += other.corruptible;
  duplicable += other.duplicable;
  markable += other.markable;
  chosen_to_mark += other.chosen_to_mark;
  not_ect += other.not_ect;
  tail_dropped += other.tail_dropped;
  peak_queue_bytes = std::max(peak_queue_bytes, other.peak_queue_bytes);
  jitter.add(other.jitter);
  moved_for_order += other.moved_for_order;
  moved_ns += other.moved_ns;
  reorderable += other.reorderable;
}

}  // namespace lw::path
