// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulator/direction.h"
#include "emulator/stats/audit.h"
#include "impair/datapath/direction_report.h"

namespace lw::impair {

/// The audit of a rule over the whole run, for a rule that changed: its checks over the sum of all
/// its configurations.
struct RunAudit {
  std::string direction, rule;
  std::uint64_t configurations = 0;
  std::vector<emulator::Check> checks = {};

  static const FigureTable& figures();
};

/// Adds up the checks of one stage that compare the same, of several configurations.
///
/// Shares and means are weighted with the frames that each was measured over. Their bounds add up
/// like deviations: the square of the sum's distance is the sum of the squares. Distances of checks
/// with too few frames to tell are added to that: what they check may well be at its bound. Rates
/// are added as the times that their bits take, whose rounding errors add up. Chi-squares and their
/// degrees of freedom add up. A check of a largest or smallest value has no sum, as each
/// configuration has its own limit.
class CheckSum {
 public:
  /// True if a check has a sum.
  static bool has_sum(const emulator::Check& check) noexcept;

  /// Requires has_sum(), and the stage, text and unit of the first check.
  void add(const emulator::Check& check) noexcept;
  /// Requires a check.
  [[nodiscard]] emulator::Check sum() const noexcept;

 private:
  emulator::Check first_;
  double weight_ = 0, asked_ = 0, seen_ = 0, distances_ = 0, squares_ = 0;
  double unknown_ = 0;  // distances of checks with too few frames
  double wider_ = 1;    // of a chi-square's bound
  std::uint64_t frames_ = 0;
};

/// The sums over the configurations that have ended. One thread, or under a lock of the caller.
class RunAudits {
 public:
  /// Adds the checks of a configuration that has ended.
  void add(emulator::Direction direction, const std::string& rule,
           std::span<const emulator::Check> checks);
  /// Returns the audits of all rules with an ended configuration, together with those
  /// configurations that are still in force (`directions`, with their checks), and of each
  /// direction what left.
  [[nodiscard]] std::vector<RunAudit> with(std::span<const DirectionReport> directions) const;

 private:
  struct Sums {
    std::uint64_t configurations = 0;
    std::map<std::pair<emulator::Stage, std::string_view>, CheckSum> checks;
    void add(std::span<const emulator::Check> more);
  };
  std::map<std::pair<std::string, std::string>, Sums> rules_;  // by direction and rule
};

}  // namespace lw::impair
