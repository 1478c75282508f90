// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>

#include "report/figures/json.h"

/// Rows of a run's page, made from the report that --json prints.
namespace lw::report {

/// All numbers, truth values and texts of a report, up to `most`:
/// `{"rows": [{"path", "value", "help"}], "of": N}`. The path is the name that --expect takes;
/// `help` is its description in the table of `output`; empty without one.
Json figure_rows(const Json& report, std::size_t most, const JsonOutput* output = nullptr);

/// What was asked for beside what was measured: `[{"what", "requested", "measured", "holds"}]`,
/// texts; `holds` is null where nothing was to be kept.
Json requested_rows(const Json& report);

/// Tables of frames: `[{"identity", "columns": [...], "rows": [[...]]}]`. Where `identity` is not
/// empty, it must hold in each row, and the last column says whether it does.
Json account_tables(const Json& report);

/// What was checked at the end of the run: `[{"text", "holds"}]`; `holds` is null where it could
/// not be checked. `output`: as for figure_rows().
Json check_rows(const Json& report, const JsonOutput* output = nullptr);

}  // namespace lw::report
