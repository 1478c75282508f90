// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figure.h"
#include "core/time.h"
#include "gen/report/run_report.h"

namespace lw::gen {

/// One rank of a common run: its clock, its start, and the sums of what it sent and received.
struct RankRow {
  std::uint64_t rank = 0;
  std::string host, machine;
  std::vector<std::string> ports, receive;
  bool reported = false;                    // false: its results are missing, and it is dead
  Duration clock_ahead{0}, clock_bound{0};  // of its clock to that of rank 0, before the start
  bool corrected = false;                   // the difference was taken off its time stamps
  // At the end of the run, after the correction:
  std::optional<Duration> end_ahead, end_bound;
  Duration late{0};  // of its start, after the agreed instant, by its clock
  FlowCounters sent;
  std::optional<MeasureTotals> received;
  std::uint64_t lost = 0;  // by sequence numbers, of what it received

  /// Largest error of a time stamp of this rank, compared with the clock of rank 0.
  [[nodiscard]] Duration stamp_bound() const noexcept;
  static const FigureTable& figures();
};

/// When the ranks of a common run started.
struct CommonStart {
  Duration skew{0};   // from the first rank's start to the last one's
  Duration bound{0};  // by which the skew may be larger, as clocks differ
  Duration most{0};   // what is allowed, with the bound
  std::string clock;  // of rank 0, which stamps all frames

  [[nodiscard]] bool holds() const noexcept { return skew + bound <= most; }
  static const FigureTable& figures();
};

/// When the rows' ranks started. `most`: allowed skew.
CommonStart start_of(const std::vector<RankRow>& ranks, Duration most, const std::string& clock);

/// Report of a common run: the sums, as for a run of one process, and each rank.
struct RanksSummary {
  const RunSummary& whole;
  const CommonStart& start;
  const std::vector<RankRow>& ranks;

  [[nodiscard]] std::string text() const;
  static const FigureTable& figures();
};

inline constexpr JsonOutput kRanksOutput{.name = "ranks",
                                         .title = "mpirun roce-gen run --json",
                                         .figures = &RanksSummary::figures,
                                         .judged = true};

/// The report of one rank, by its own counts: `sent` and `received` are those of its process.
struct RankReport {
  std::uint64_t rank = 0;
  std::string host;
  const config::FlowProfile& profile;  // its part
  const RunReport& sent;
  const Measurement* received = nullptr;  // null: it receives nothing
  const FlowNames& names;                 // of all flows

  static const FigureTable& figures();
};

inline constexpr JsonOutput kRankOutput{
    .name = "rank", .title = "mpirun roce-gen run --rank-reports", .figures = &RankReport::figures};

}  // namespace lw::gen
