// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/time.h"
#include "report/plot.h"

namespace lw::report {

/// Counters of a run over its time, for plots of their rates. Memory is bounded: when there are
/// kMost samples, every second one is removed and the interval doubles. The counters are totals, so
/// the rates stay the true averages over the longer intervals. One thread.
class RateHistory {
 public:
  static constexpr std::size_t kMost = 600;

  enum class Unit : std::uint8_t { bytes, frames };
  /// Counters that share a plot.
  struct Group {
    std::string title;
    std::string what;  // quantity of the y axis, "rate on the wire": its unit is added
    Unit unit = Unit::bytes;
    std::vector<std::string> counters;  // names in the legend
  };

  /// `interval`: between samples at first; it suits runs of up to kMost times as long.
  explicit RateHistory(std::vector<Group> groups,
                       Duration interval = std::chrono::milliseconds(100))
      : groups_(std::move(groups)), interval_(interval) {}

  /// True if a sample should be added. `elapsed`: time since the start of the run.
  [[nodiscard]] bool due(Duration elapsed) const noexcept { return elapsed >= next_; }
  /// Adds a sample: the totals of all counters, in the order of the groups. A total may decrease,
  /// as that of lost frames does when one comes late. Ignored unless later than the last sample.
  void add(Duration elapsed, std::span<const std::uint64_t> totals);

  /// Marks an instant in all plots; of those beyond kMostMarks there is none.
  void mark(Duration elapsed, std::string label);
  static constexpr std::size_t kMostMarks = 100;

  /// Returns a plot per group. It has no curves if there are fewer than two samples, and none for a
  /// counter that stays 0 unless all of the group do. Rates are in bit/s for bytes, in frames/s for
  /// frames, and belong to the interval that ends at their time.
  [[nodiscard]] std::vector<Plot> plots() const;

 private:
  struct Sample {
    Duration at{};
    std::vector<std::uint64_t> totals;
  };
  [[nodiscard]] PlotCurve curve(const std::string& name, std::size_t counter, double scale) const;
  [[nodiscard]] Plot plot(const Group& group, std::size_t first) const;

  std::vector<Group> groups_;
  std::vector<Sample> samples_;  // the start of the run, when all totals are 0, is not among them
  std::vector<PlotMark> marks_;
  Duration interval_;
  Duration next_ = interval_;
};

}  // namespace lw::report
