// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "gen/report/flow_report.h"
#include "gen/report/run_report.h"

namespace lw::gen {

/// Where a flow stands: what was counted from the start on.
struct FlowProgress {
  std::string name;
  bool is_sent = false, is_received = false;
  std::uint64_t sent_frames = 0, sent_wire_bytes = 0, not_sent = 0;
  std::uint64_t received_frames = 0, received_bytes = 0;
  std::uint64_t lost = 0, duplicated = 0, out_of_order = 0, bad_icrc = 0, ce_marks = 0;
  std::uint64_t latencies = 0;  // how many were measured
  double latency_sum_ns = 0;    // of all of them
  std::int64_t p99_ns = 0;      // 0 where there are too many flows to ask each
  std::int64_t latency_max_ns = 0;
};

/// Sent flows first, in the profile's order, with what came of them; then what else came.
/// `sent` and `received` may be null.
std::vector<FlowProgress> progress_of(const FlowNames& names, const std::vector<FlowTally>* sent,
                                      const Measurement* received);

/// Everything together; its p99 is the worst flow's.
FlowProgress total_of(const std::vector<FlowProgress>& flows);

}  // namespace lw::gen
