// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dissect/explain/explanation.h"
#include "dissect/report/session_plots.h"
#include "dissect/sessions/result_rows.h"
#include "dissect/upper/command_reader.h"
#include "report/json_line.h"

namespace lw::dissect {

/// All data of a report. `messages` are by operation.
struct ReportContents {
  const Evidence& evidence;
  const SessionPlots& plots;
  const MessageGroups& messages;
  std::vector<std::string> files;
  std::string filter;
  std::uint64_t anomalies_beyond = 0;          // anomalies that were not kept
  const CapturedCommands* commands = nullptr;  // of an upper layer; null: there are none
};

/// Limits of a page. The page shows how many rows it leaves out.
constexpr std::size_t kMostPlottedSessions = 16;  // the worst
constexpr std::size_t kMostSessionRows = 2000;    // the worst
constexpr std::size_t kMostCommands = 5000;       // the slowest
constexpr std::size_t kMostAnomalyRows = 5000;    // rare kinds completely, the first of the others

/// The data of the page. Times are in ns since the capture's first packet.
report::Json report_json(const ReportContents& contents);

}  // namespace lw::dissect
