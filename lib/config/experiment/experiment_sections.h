// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "config/experiment/experiment_profile.h"
#include "config/toml/table.h"

namespace lw::config {

// The parts of an experiment's file; what is wrong is noted in their tables' document.

/// A name of which files' names are made.
Parsed<std::string> read_file_stem(const Value& value);

/// The sub-table `key`, every key of which is a parameter. One that names a file (`path`) is
/// looked for in `folder`.
ExperimentParameters read_parameters(const Table& table, std::string_view key,
                                     const std::filesystem::path& folder);
/// `common`, with those that `own` has in their place, and its others behind them.
ExperimentParameters over(ExperimentParameters common, const ExperimentParameters& own);

/// The sub-table `compare`, where there is one.
std::optional<ExperimentComparison> read_comparison(const Table& table,
                                                    const std::filesystem::path& folder);
ExperimentPlot read_plot(const Table& table);

}  // namespace lw::config
