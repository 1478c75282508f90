// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "core/counted.h"
#include "dissect/sessions/capture_analysis.h"

namespace lw::dissect {

/// Whether a direction has anything to report.
bool has_traffic(const analysis::Session& session, std::uint8_t direction);
/// "SEND, WRITE", the operations of a direction's requests.
std::string operations_text(const analysis::StreamCounts& counts);

/// `where`: of places_of(). `time`: a column; empty: there is none.
std::string message_text(const analysis::Message& message, const std::string& where,
                         const std::string& time);

/// One line: "frame 12  session 1 ->  psn_gap  PSN 5, 3 packets: lost before the capture point".
/// `time`: a column; empty: there is none.
std::string anomaly_text(const analysis::Anomaly& anomaly, const std::string& time);
/// The part of that line after the kind.
std::string anomaly_words(const analysis::Anomaly& anomaly);
/// Messages of one operation and size.
struct MessageGroup {
  std::uint64_t messages = 0, bytes = 0, resent = 0, incomplete = 0;
  Histogram latency;  // ns
};
enum class Grouping : std::uint8_t { none, operation, size, operation_and_size };
/// By operation and size; a part that is not in `Grouping` is empty or 0.
using MessageGroups = std::map<std::tuple<std::string_view, std::uint64_t>, MessageGroup>;
void add_to(MessageGroups& groups, Grouping by, const analysis::Message& message);

/// The word that fits a number: verb(1, "was", "were") is "was".
std::string_view verb(std::uint64_t count, std::string_view one, std::string_view several);

}  // namespace lw::dissect
