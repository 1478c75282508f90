// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/figure.h"
#include "gen/ranks/rank_timing.h"
#include "gen/report/run_report.h"

namespace lw::gen {

/// One rank of a common run: its clock, its start, and the sums of what it sent and received.
struct RankRow {
  std::uint64_t rank = 0;
  std::string host, machine;
  std::vector<std::string> ports, receive;
  RankTiming timing = {};
  FlowCounters sent;
  std::optional<MeasureTotals> received;
  std::uint64_t missed = 0;  // frames that its ports lost before they were read
  std::uint64_t lost = 0;    // by sequence numbers, of what it received

  static const FigureTable& figures();
};

/// Adds what the ranks did: `broken` has a sentence for each part that cannot be read, and for a
/// start that was too late.
void observe_ranks(Judge& judge, const std::vector<RankRow>& ranks,
                   const std::vector<std::string>& broken);

/// Report of a common run: the sums, as for a run of one process, and each rank.
struct RanksSummary {
  const RunSummary& whole;
  const CommonStart& start;
  const std::vector<RankRow>& ranks;
  const std::string& clock;  // of rank 0, which stamps all frames

  [[nodiscard]] std::string text() const;
  static const FigureTable& figures();
};

inline constexpr JsonOutput kRanksOutput{.name = "ranks",
                                         .title = "mpirun roce-gen run --json",
                                         .figures = &RanksSummary::figures,
                                         .judged = true,
                                         .version = 3};

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
