// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "core/machine.h"
#include "core/question.h"
#include "gen/ranks/rank_timing.h"
#include "perf/config.h"
#include "report/run_rows.h"

namespace lw::gen {

/// What one rank counted, over all its connections.
struct PerfRankSums {
  // As a requester:
  std::uint64_t messages = 0, bytes = 0;
  Duration elapsed{0};  // first post to last completion
  double average_bps = 0;
  std::uint64_t packets = 0, retransmitted = 0, timeouts = 0, failed = 0, wrong = 0;
  bool stopped = false;  // ended early
  // As a responder:
  std::uint64_t connections = 0, received_bytes = 0, checked = 0, received_wrong = 0, broken = 0;
  // At its port:
  std::uint64_t bad_icrc = 0, frames_not_sent = 0;

  static const FigureTable& figures();
};

/// One rank of a common perf run.
struct PerfRankRow {
  std::uint64_t rank = 0;
  std::string host, machine, address;
  RankTiming timing = {};
  PerfRankSums sums = {};
  Machine own = {};  // what its machine lost and delayed

  /// The part that the rank itself measured, for rank 0.
  [[nodiscard]] std::string part() const;
  /// Reads it. Error: it is no such part.
  Result<void> read(std::string_view part);
  static const FigureTable& figures();
};

/// Report of a perf run of several ranks.
struct PerfRanksSummary {
  std::string_view pattern, operation;
  std::uint64_t size = 0, qps = 0;  // of each pair of ranks
  CommonStart start;
  std::vector<PerfRankRow> ranks;
  std::vector<std::string> broken;  // what is wrong with ranks; empty: nothing
  Machine machine = {};             // of all ranks

  [[nodiscard]] std::uint64_t messages() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;
  /// Sum of the requesters' rates.
  [[nodiscard]] double total_bps() const noexcept;
  /// Jain's index of the requesters' rates: 1 if all are equal, 1/n if one has all. (R. Jain et
  /// al., DEC-TR-301, 1984)
  [[nodiscard]] double fairness() const noexcept;
  /// What was observed of kPerfQuestions.
  void observe(Judge& judge) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] report::RunRows page_rows() const;
  static const FigureTable& figures();
};

inline constexpr JsonOutput kPerfRanksOutput{.name = "perf_ranks",
                                             .title = "mpirun roce-gen perf --json",
                                             .figures = &PerfRanksSummary::figures,
                                             .judged = true,
                                             .version = 2};

}  // namespace lw::gen
