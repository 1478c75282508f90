// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "app/command_line.h"
#include "gen/receive/measure_choices.h"
#include "gen/stats/limits.h"

namespace lw::gen {

// Options that several commands share.
void add_watch_options(app::Options& options, WatchOptions& watch);
void add_measure_options(app::Options& options, MeasureChoices& choices);
void add_limit_options(app::Options& options, Limits& limits);
void add_report_options(app::Options& options, bool& json, bool& verbose);

/// Writes a text to a file. Errors: the file cannot be written.
Result<void> write_file(const std::string& path, const std::string& text);

}  // namespace lw::gen
