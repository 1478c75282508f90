// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/report/flow_report.h"
#include "gen/report/ranks_report.h"
#include "gen/report/run_report.h"
#include "report/run_rows.h"

namespace lw::gen {

/// Returns the rows of a sender's page: rates, the expectations' checks, frames sent and returned.
report::RunRows page_rows(const RunSummary& summary);
/// Returns the rows of the page of a common run: also its ranks.
report::RunRows page_rows(const RanksSummary& summary);
/// Returns the rows of a receiver's page.
report::RunRows page_rows(const ReceiveSummary& summary);

}  // namespace lw::gen
