// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/figure.h"
#include "dissect/sessions/result_rows.h"
#include "report/json_line.h"

namespace lw::dissect {

/// A row of `connections`: one for each direction with requests or with responses to them.
report::Json session_row(const analysis::Analyst& analyst, const CapturePoints& points,
                         const analysis::Session& session, std::uint8_t direction);
/// A row of `messages`, of `messages --by`, and of `anomalies`. `points`: those of the sessions.
/// `where`: of places_of().
report::Json message_row(const analysis::Message& message, const analysis::Analyst& analyst,
                         const CapturePoints& points, const std::string& where);
report::Json group_row(Grouping by, const MessageGroups::value_type& entry);
report::Json anomaly_row(const analysis::Anomaly& anomaly, const analysis::Analyst& analyst,
                         const CapturePoints& points);

/// The tables of these rows.
const FigureTable& session_figures();
const FigureTable& message_figures();
const FigureTable& group_figures();
const FigureTable& anomaly_figures();
inline constexpr JsonOutput kSessionOutput{.name = "connection",
                                           .title = "roce-dissect connections --json",
                                           .figures = &session_figures,
                                           .version = 2};
inline constexpr JsonOutput kMessageOutput{
    .name = "message", .title = "roce-dissect messages --json", .figures = &message_figures};
inline constexpr JsonOutput kGroupOutput{.name = "message_group",
                                         .title = "roce-dissect messages --by --json",
                                         .figures = &group_figures};
inline constexpr JsonOutput kAnomalyOutput{.name = "anomaly",
                                           .title = "roce-dissect anomalies --json",
                                           .figures = &anomaly_figures,
                                           .version = 2};

}  // namespace lw::dissect
