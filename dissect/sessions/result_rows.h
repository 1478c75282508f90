// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "dissect/sessions/capture_analysis.h"
#include "report/json_line.h"

namespace lw::dissect {

/// The rows of `sessions`: one for each direction that sends requests, or whose responses were
/// seen.
report::Json session_row(const analysis::Analyst& analyst, const CapturePoints& points,
                         const analysis::Session& session, std::uint8_t direction);
/// Whether a direction has anything to report.
bool has_traffic(const analysis::Session& session, std::uint8_t direction);
/// "SEND, WRITE", the operations of a direction's requests.
std::string operations_text(const analysis::StreamCounts& counts);

report::Json message_row(const analysis::Message& message);
std::string message_text(const analysis::Message& message);

report::Json anomaly_row(const analysis::Anomaly& anomaly);
/// One line: "frame 12  session 1 ->  psn_gap  PSN 5, 3 packets: lost before the capture point".
std::string anomaly_text(const analysis::Anomaly& anomaly);
/// What the line says behind the kind.
std::string anomaly_words(const analysis::Anomaly& anomaly);
/// "1 packet", "3 packets".
std::string counted(std::uint64_t count, std::string_view noun);

}  // namespace lw::dissect
