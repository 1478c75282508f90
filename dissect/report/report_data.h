// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dissect/explain/explanation.h"
#include "dissect/report/session_plots.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {

/// All that a report shows. `messages` are by operation.
struct ReportContents {
  const Evidence& evidence;
  const SessionPlots& plots;
  const MessageGroups& messages;
  std::vector<std::string> files;
  std::string filter;
  std::uint64_t anomalies_beyond = 0;  // that were not kept
};

/// Bounds of a page: the rest is counted in it.
constexpr std::size_t kMostPlottedSessions = 16;  // the worst
constexpr std::size_t kMostSessionRows = 2000;    // the worst
constexpr std::size_t kMostAnomalyRows = 5000;    // the rare kinds whole, of the others the first

/// The data of the page: times are ns from the capture's first packet on.
report::Json report_json(const ReportContents& contents);

}  // namespace lw::dissect
