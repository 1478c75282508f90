// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.h"

namespace lw::emulator {

/// A path's recorded course: from each row's time on, until the next row's, its values hold.
struct TraceConfig {
  struct Row {
    Duration time{};                 // since the rule's first frame
    std::optional<Duration> delay;   // in place of the rule's own
    std::optional<double> loss;      // probability, in place of the rule's own
    std::optional<double> rate_bps;  // of the rule's queue
    friend bool operator==(const Row&, const Row&) = default;
  };
  std::vector<Row> rows;  // not empty, times rising from 0
  /// After so long it begins again; none: the last row holds for ever.
  std::optional<Duration> period;
  friend bool operator==(const TraceConfig&, const TraceConfig&) = default;
};

/// Follows a trace as time goes by. O(1) a frame.
class Trace {
 public:
  explicit Trace(const TraceConfig& config) : config_(config) {}

  /// The row that holds at `now`, which never falls.
  [[nodiscard]] const TraceConfig::Row& at(Instant now) noexcept {
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
  /// Which of the rows that is.
  [[nodiscard]] std::size_t place() const noexcept { return row_; }

 private:
  TraceConfig config_;
  std::optional<Instant> begin_;
  std::size_t row_ = 0;
};

}  // namespace lw::emulator
