// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dissect/path/path_packets.h"
#include "dissect/sessions/capture_analysis.h"

namespace lw::dissect {

/// The points of a path and its packets.
struct JoinedPath {
  explicit JoinedPath(PathPoints read) : path(std::move(read)), packets(path) {}
  JoinedPath(const JoinedPath&) = delete;
  JoinedPath& operator=(const JoinedPath&) = delete;

  PathPoints path;
  PathPackets packets;
};

/// How captures are analysed.
struct AnalysisPlan {
  OpenCaptures open;
  std::string points = {};  // of CapturePoints::decide()
  bool apart = false;       // each point alone, though several saw the same packets
  bool read_once = false;   // the captures cannot be read again: each point alone
  unsigned jobs = 1;
};

/// Captures, and how they were analysed.
struct AnalysedCaptures {
  CapturePoints points;
  std::unique_ptr<JoinedPath> joined;  // null: no points of one path, or each alone
  CaptureTotals totals = {};
  std::optional<Instant> begin = {};  // of relative times: the stamp of the first frame
  std::optional<Error> damage = {};   // that ended a file: the frames before it count
};

/// The places between points where packets of a message were lost or late: "near > far"; several
/// are joined by ", ". Empty: none, or no path was analysed.
std::string places_of(const JoinedPath* joined, const analysis::Message& message);

/// Decides the capture points and analyses the captures. If several points saw the same packets,
/// they are analysed as one: each packet once (see PathPackets), and the anomalies are those of
/// path_findings(). `decided` is called with the points before the analysis begins. Errors: those
/// of `plan.open`.
Result<void> analyse_captures(const AnalysisPlan& plan, analysis::Analyst& analyst,
                              CollectedResults& results, AnalysedCaptures& captures,
                              const std::function<void(const CapturePoints&)>& decided = {});

}  // namespace lw::dissect
