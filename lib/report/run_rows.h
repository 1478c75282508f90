// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/figures/json.h"

/// Rows of a run's page. A program fills them from the result that --json prints.
namespace lw::report {

/// What was asked for, beside what was measured.
struct RequestedRow {
  std::string what, requested, measured;
  std::optional<bool> holds = {};         // nothing: nothing was to be kept
  std::optional<double> difference = {};  // of a published figure: measured / published - 1
  std::string remark = {};                // on a published figure
};

/// Counts of frames or messages.
struct AccountTable {
  std::string identity;  // holds in each row if the last column says so; empty: there is none
  std::vector<std::string> columns;
  std::vector<std::vector<Json>> rows = {};  // numbers, texts, truth values or null
};

/// What a page shows of one report beside its figures.
struct RunRows {
  std::string name = {};  // of the report, where there are several: "64 B"
  std::vector<RequestedRow> requested = {};
  std::vector<AccountTable> accounts = {};
};

/// All numbers, truth values and texts of a report, up to `most`:
/// `{"rows": [{"path", "value", "help"}], "of": N}`. The path is the name that --expect takes;
/// `help` is its description in the table of `output`; empty without one.
Json figure_rows(const Json& report, std::size_t most, const JsonOutput* output = nullptr);

}  // namespace lw::report
