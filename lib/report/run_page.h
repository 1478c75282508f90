// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/verdict.h"
#include "report/plot.h"
#include "report/run_rows.h"

namespace lw::report {

/// A name and what is to be shown of it.
using NamedText = std::pair<std::string, std::string>;

/// A report as --json prints it, and the table of its figures; null: they have no descriptions.
struct PageReport {
  Json json;
  const JsonOutput* output = nullptr;
  RunRows rows = {};
  Verdict verdict = {};
};

/// What the page of a run shows.
struct RunPage {
  std::string command;                   // "roce-gen run"
  std::string command_line;              // as typed
  ExitCode exit = ExitCode::done;        // how the process ends
  std::vector<std::string> errors = {};  // printed on standard error
  std::vector<PageReport> reports = {};  // in the order in which --json prints them
  std::vector<NamedText> drawings = {};  // title and SVG, before the plots
  std::vector<Plot> plots = {};
  std::vector<NamedText> profiles = {};   // name and TOML of each file
  std::vector<std::string> changes = {};  // of --set
  std::vector<NamedText> machine = {}, versions = {};
};

/// One HTML document without references to other files: the verdict, in the colour of its worst
/// statement, or red if the exit code is above 0; all statements, requested and measured values,
/// plots, accounts, all figures with their meaning, profile, machine, versions. The figures come
/// from the reports, so a new key of --json is on the page too.
std::string html_text(const RunPage& page);

}  // namespace lw::report
