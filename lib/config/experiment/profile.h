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

/// Text of a parameter's value and its position. The kind of run parses it.
struct ExperimentValue {
  std::string text;  // booleans: "true" or "false"
  FilePosition at;
};

/// A parameter of a run. Several values make a sweep.
struct ExperimentParameter {
  std::string name;
  FilePosition at;
  std::vector<ExperimentValue> values;  // not empty
};
using ExperimentParameters = std::vector<ExperimentParameter>;

/// Comparison of a scenario with a published table. "{size}" in a column's name is replaced by the
/// value of the parameter `size`.
struct ExperimentComparison {
  struct Column {
    std::string published;         // column of the published table
    std::string ours;              // our figure, or "figure.min", ".avg", ".max" over repeats
    std::optional<double> within;  // tolerance, share of the published figure; nullopt: no check
  };
  struct Remark {
    std::string row;  // the row's key cells, joined by spaces
    std::string text;
    bool excused = false;  // `within` is not checked
  };
  FilePosition at;
  std::string table;                                      // path of a CSV file
  std::vector<std::pair<std::string, std::string>> rows;  // published column, our figure
  std::vector<Column> columns;
  std::vector<Remark> remarks;
};

/// A sweep. Each combination of parameter values is a cell.
struct ExperimentScenario {
  std::string name, note;
  FilePosition at;
  std::string run = "perf";         // kind of run
  ExperimentParameters parameters;  // in file order, those of [common] first
  ExperimentParameters full;        // replacements with --full
  std::uint32_t repeats = 1;
  std::vector<std::string> show;  // columns of the printed table; empty: no table
  std::optional<ExperimentComparison> compare;
};

/// Scale of an axis; binary: powers of two, for sizes in bytes.
enum class AxisScale : std::uint8_t { linear, log, binary };

struct ExperimentPlot {
  FilePosition at;
  std::string name, title;
  std::vector<std::string> scenarios;                     // empty: all
  std::vector<std::pair<std::string, std::string>> only;  // selects cells by parameter value
  std::string x, y;                                       // figures or parameters
  std::string x_label, y_label;
  AxisScale x_scale = AxisScale::linear, y_scale = AxisScale::linear;
  std::vector<std::string> curves;  // parameters; one curve per combination
  std::string series;               // name of the runs' samples to draw, or empty
  bool published = false;           // also draw the published table
};

/// An assumption of the experiment and its source.
struct ExperimentPremise {
  std::string parameter, value, basis, why;
};

struct ExperimentProfile {
  std::string file;  // name in error messages
  std::string name, title, note;
  std::uint64_t seed = 1;
  std::vector<ExperimentPremise> premises;
  std::vector<ExperimentScenario> scenarios;  // not empty
  std::vector<ExperimentPlot> plots;
};

/// Reads an experiment; docs/reference/roce-gen-experiment.md lists the keys. Errors (usage): a
/// line per error, with file, line and column. Parameters are checked by the kind of run, not here.
Result<ExperimentProfile> load_experiment_profile(const std::string& file);
Result<ExperimentProfile> parse_experiment_profile(std::string_view text, std::string name);

/// Returns `common` with the parameters of `own` added or replaced by name.
ExperimentParameters merge_parameters(ExperimentParameters common, const ExperimentParameters& own);

}  // namespace lw::config
