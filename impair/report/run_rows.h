// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "impair/report/report.h"
#include "report/run_rows.h"

namespace lw::impair {

/// Returns the rows of the page of a run or replay: the stages' checks, and the accounts.
report::RunRows page_rows(const Report& report);

}  // namespace lw::impair
