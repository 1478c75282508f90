// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <string>

#include "impair/report/report.h"
#include "report/live_screen.h"

namespace lw::impair {

/// Makes the live view of a run or a replay from its successive reports. Rates are averages since
/// the previous report. Their time is the report's: for a replay, the time of the capture.
class LiveReport {
 public:
  explicit LiveReport(std::string title) : title_(std::move(title)) {}

  /// Returns the view of the report `now`. `ended`: it is the last report; its rates are averages
  /// of the whole run.
  report::LiveModel model(const Report& now, bool ended = false);

 private:
  [[nodiscard]] report::LiveSection directions(const Report& now);
  [[nodiscard]] report::LiveSection delays(const Report& now) const;
  [[nodiscard]] report::LiveSection rules(const Report& now) const;
  [[nodiscard]] std::string line(const Report& now) const;

  std::string title_;
  Report before_;
  std::array<report::Sparkline, 2> trends_;  // output rates by direction
};

}  // namespace lw::impair
