// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/expectation.h"
#include "core/figure.h"
#include "report/json_line.h"

/// Paths of figures: "flows.web.lost" is the key "lost" of that element of the list "flows" whose
/// name is "web"; "flows.0.lost" the one of the first element, "flows.*.lost" that of each. A
/// list's element is named by its key "name", "direction" or "port", or by its first one.
namespace lw::report {

/// What a table says of a node of a report; no type: the table has no such node.
struct Described {
  const FigureType* type = nullptr;
  Unit unit = Unit::none;
};

/// A node that a path stands for.
struct FoundFigure {
  std::string path;
  const Json* node = nullptr;
  Described described = {};
};

/// The nodes of a report that a path stands for. `output`: the table of its figures; null: it has
/// none. Points into `report`.
std::vector<FoundFigure> figures_named(const Json& report, std::string_view name,
                                       const JsonOutput* output = nullptr);

/// The children of an object or a list, by the keys that a path has for them. Points into `node`.
std::vector<std::pair<std::string, const Json*>> children_of(const Json& node);

/// Says that a report has no such figure, and which names are near.
std::string no_figure(const Json& report, std::string_view name);

/// What a figure measures: one of it is `scale` of the unit.
struct FigureScale {
  Expectation::Unit unit{};
  double scale = 1;
};
FigureScale scale_of(const FoundFigure& figure);

/// Checks an expectation before there is a report. Errors: no report of the table can have a figure
/// of this path, or the value is of another kind than the figure.
Parsed<void> check_figure(const Expectation& expectation, const JsonOutput& output);

/// Checks that a value of `expectation` may be compared with a figure of `unit` at `path`.
Parsed<void> check_kind(const Expectation& expectation, std::string_view path,
                        Expectation::Unit unit);

}  // namespace lw::report
