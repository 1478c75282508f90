// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/toml/value.h"
#include "core/error.h"

namespace lw::config {

/// A parameter's value as it stands in the file: who runs it reads it, and complains at its place.
struct ExperimentValue {
  std::string text;  // a boolean is "true" or "false"
  Position at;
};

/// A parameter of what is run. Several values are swept.
struct ExperimentParameter {
  std::string name;
  Position at;
  std::vector<ExperimentValue> values;  // not empty
};
using ExperimentParameters = std::vector<ExperimentParameter>;

/// A published table that a scenario is held against. In names of columns, "{size}" stands for the
/// value of the parameter `size`.
struct ExperimentComparison {
  struct Column {
    std::string published;         // column of the table
    std::string ours;              // a figure, or "figure.min", ".avg", ".max" over the repeats
    std::optional<double> within;  // a share of the published figure; none: for information
  };
  struct Remark {
    std::string row;  // its key's cells, one space between them
    std::string text;
    bool excused = false;  // not held to `within`
  };
  Position at;
  std::string table;                                      // a CSV file, its folder resolved
  std::vector<std::pair<std::string, std::string>> rows;  // column of the table, figure of ours
  std::vector<Column> columns;
  std::vector<Remark> remarks;
};

/// One sweep: every combination of its parameters' values is a cell.
struct ExperimentScenario {
  std::string name, note;
  Position at;
  std::string run = "perf";         // what kind of run
  ExperimentParameters parameters;  // in the order of the file, [common] ones first
  ExperimentParameters full;        // in their place with --full
  std::uint32_t repeats = 1;
  std::vector<std::string> show;  // figures for the printed table; none: no table
  std::optional<ExperimentComparison> compare;
};

/// How an axis goes: evenly, by powers of ten, or by powers of two (for sizes in bytes).
enum class PlotScale : std::uint8_t { linear, log, binary };

struct ExperimentPlot {
  std::string name, title;
  std::vector<std::string> scenarios;                     // empty: all
  std::vector<std::pair<std::string, std::string>> only;  // cells whose parameters are these
  std::string x, y;                                       // figures or parameters
  std::string x_label, y_label;
  PlotScale x_scale = PlotScale::linear, y_scale = PlotScale::linear;
  std::vector<std::string> curves;  // parameters, one curve for each combination
  std::string series;               // of the runs themselves: the name of their samples; or empty
  bool published = false;           // draw what the scenario is compared with, too
};

/// What the figures rest on.
struct ExperimentPremise {
  std::string parameter, value, basis, why;
};

struct ExperimentProfile {
  std::string file;  // what errors call it
  std::string name, title, note;
  std::uint64_t seed = 1;
  std::vector<ExperimentPremise> premises;
  std::vector<ExperimentScenario> scenarios;  // not empty
  std::vector<ExperimentPlot> plots;
};

/// Reads an experiment; gen/README.md lists the keys. Errors (usage): every mistake with file,
/// line and column, one a line. What parameters there are depends on the kind of run: they are
/// not looked into here.
Result<ExperimentProfile> load_experiment_profile(const std::string& file);
Result<ExperimentProfile> parse_experiment_profile(std::string_view text, std::string name);

}  // namespace lw::config
