// SPDX-License-Identifier: BSD-3-Clause
#include "config/experiment/profile.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "config/limits.h"
#include "config/toml/document.h"
#include "config/toml/profile_search.h"

namespace lw::config {
namespace {

Parsed<ExperimentValue> read_one(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value.data))
    return ExperimentValue{*flag ? "true" : "false", value.at};
  std::string text = text_of(value);
  if (text.empty())
    return std::unexpected("expected a value or a list of values, found " + describe(value));
  return ExperimentValue{std::move(text), value.at};
}

Parsed<std::vector<ExperimentValue>> read_values(const Value& value) {
  return some_of(read_one)(value);
}

bool names_file(std::string_view parameter) noexcept { return parameter == "path"; }

std::string in_folder(const std::filesystem::path& folder, const std::string& file) {
  return (folder / file).lexically_normal().string();
}

Parsed<std::string> read_word(std::string_view text) { return std::string(text); }

std::vector<std::pair<std::string, std::string>> read_pairs(const Table& table,
                                                            std::string_view key) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto section = table.table(key);
  if (!section) return pairs;
  for (const std::string_view name : section->keys())
    pairs.emplace_back(name, section->get_or(name, read_word, ""));
  section->finish();
  return pairs;
}

ExperimentComparison::Column read_column(const Table& table) {
  ExperimentComparison::Column column;
  column.published =
      table.require("published", read_text, "a column of the published table").value_or("");
  column.ours = table.require("ours", read_text, "one of our figures").value_or("");
  column.within = table.get("within", parse_probability);
  table.finish();
  return column;
}

ExperimentComparison::Remark read_remark(const Table& table) {
  ExperimentComparison::Remark remark;
  remark.row = table.require("row", read_text, "the row's key cells").value_or("");
  remark.text = table.require("text", read_text, "a text").value_or("");
  remark.excused = table.get_or("excused", read_boolean, false);
  table.finish();
  return remark;
}

constexpr Choice<AxisScale> kScales[] = {
    {"linear", AxisScale::linear}, {"log", AxisScale::log}, {"binary", AxisScale::binary}};

Parsed<std::string> read_file_stem(const Value& value) {
  auto text = read_text(value);
  if (text && text->find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789-_.") != std::string::npos)
    return std::unexpected("expected letters, digits, '-', '_' and '.', found " + describe(value));
  return text;
}

ExperimentParameters read_parameters(const Table& table, std::string_view key,
                                     const std::filesystem::path& folder) {
  ExperimentParameters parameters;
  const auto section = table.table(key);
  if (!section) return parameters;
  for (const std::string_view name : section->keys()) {
    auto values = section->get(name, read_values);
    if (!values) continue;
    for (ExperimentValue& value : *values)
      if (names_file(name)) value.text = in_folder(folder, value.text);
    const FilePosition at = values->front().at;
    parameters.push_back({std::string(name), at, std::move(*values)});
  }
  section->finish();
  std::ranges::sort(parameters, {}, &ExperimentParameter::at);
  return parameters;
}

std::optional<ExperimentComparison> read_comparison(const Table& table,
                                                    const std::filesystem::path& folder) {
  const auto section = table.table("compare");
  if (!section) return std::nullopt;
  ExperimentComparison comparison;
  comparison.at = section->position();
  comparison.table =
      in_folder(folder, section->require("table", read_text, "a CSV file").value_or(""));
  comparison.rows = read_pairs(*section, "rows");
  if (comparison.rows.empty())
    section->refuse("rows", "expected the key columns of a row, found none");
  for (const Table& column : section->tables("column"))
    comparison.columns.push_back(read_column(column));
  if (comparison.columns.empty())
    section->refuse("expected at least one [[column]] to compare, found none");
  for (const Table& remark : section->tables("remark"))
    comparison.remarks.push_back(read_remark(remark));
  section->finish();
  return comparison;
}

ExperimentPlot read_plot(const Table& table) {
  ExperimentPlot plot;
  plot.at = table.position();
  plot.name = table.require("name", read_file_stem, "a file name").value_or("");
  plot.title = table.get_or("title", read_text, plot.name);
  plot.scenarios = table.get_or("scenario", list_of(read_text), {});
  plot.only = read_pairs(table, "only");
  plot.x = table.require("x", read_text, "a figure or a parameter").value_or("");
  plot.y = table.require("y", read_text, "a figure").value_or("");
  plot.x_label = table.get_or("x_label", read_text, plot.x);
  plot.y_label = table.get_or("y_label", read_text, plot.y);
  plot.x_scale = table.get_or("x_scale", choice(kScales), AxisScale::linear);
  plot.y_scale = table.get_or("y_scale", choice(kScales), AxisScale::linear);
  plot.curves = table.get_or("curves", list_of(read_text), {});
  plot.series = table.get_or("series", read_text, "");
  plot.published = table.get_or("published", read_boolean, false);
  table.finish();
  return plot;
}

/// Number of combinations of the parameters' values.
double combinations(const ExperimentParameters& parameters) {
  double count = 1;
  for (const ExperimentParameter& parameter : parameters)
    count *= static_cast<double>(parameter.values.size());
  return count;
}

ExperimentScenario read_scenario(const Table& table, std::size_t index,
                                 const ExperimentParameters& common,
                                 const std::filesystem::path& folder) {
  constexpr std::uint32_t kMostRepeats = 10'000;
  ExperimentScenario scenario;
  scenario.at = table.position();
  scenario.name = table.get_or("name", read_text, fmt::format("scenario{}", index));
  scenario.note = table.get_or("note", read_text, "");
  scenario.run = table.get_or("run", read_text, scenario.run);
  scenario.repeats = table.get_or("repeats", integer<std::uint32_t>(1, kMostRepeats), 1);
  scenario.show = table.get_or("show", list_of(read_text), {});
  scenario.parameters = merge_parameters(common, read_parameters(table, "set", folder));
  scenario.full = read_parameters(table, "full", folder);
  const double cells = std::max(combinations(scenario.parameters),
                                combinations(merge_parameters(scenario.parameters, scenario.full)));
  if (cells > kMostCells)
    table.refuse("set", fmt::format("expected at most {} combinations of values, found {:.0f}",
                                    kMostCells, cells));
  scenario.compare = read_comparison(table, folder);
  table.finish();
  return scenario;
}

void check_scenarios(const std::vector<Table>& tables,
                     const std::vector<ExperimentScenario>& scenarios, const Table& root) {
  if (scenarios.empty()) root.refuse("expected at least one [[scenario]], found none");
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    const auto end = scenarios.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find_if(scenarios.begin(), end, [&](const auto& earlier) {
          return earlier.name == scenarios[i].name;
        }) != end) {
      tables[i].refuse(
          "name", fmt::format("expected a unique name, found \"{}\" again", scenarios[i].name));
    }
  }
}

void check_plots(const std::vector<Table>& tables, const ExperimentProfile& profile) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    for (const std::string& name : profile.plots[i].scenarios) {
      if (std::ranges::find(profile.scenarios, name, &ExperimentScenario::name) ==
          profile.scenarios.end()) {
        tables[i].refuse("scenario",
                         fmt::format("expected a [[scenario]]'s name, found \"{}\"", name));
      }
    }
  }
}

ExperimentPremise read_premise(const Table& table) {
  static constexpr Choice<std::string_view> kBases[] = {{"measured", "measured"},
                                                        {"published", "published"},
                                                        {"assumed", "assumed"},
                                                        {"calibrated", "calibrated"}};
  ExperimentPremise premise;
  premise.parameter = table.require("parameter", read_text, "a name").value_or("");
  premise.value = table.require("value", read_text, "a value").value_or("");
  premise.basis =
      table.require("basis", choice(kBases), "measured, published, assumed or calibrated")
          .value_or("");
  premise.why = table.get_or("why", read_text, "");
  table.finish();
  return premise;
}

Result<ExperimentProfile> read_experiment(Document document) {
  const Table root = document.root();
  const auto folder = std::filesystem::path(document.name()).parent_path();
  ExperimentProfile profile;
  profile.file = document.name();
  profile.name =
      root.get_or("name", read_file_stem, std::filesystem::path(document.name()).stem().string());
  profile.title = root.get_or("title", read_text, profile.name);
  profile.note = root.get_or("note", read_text, "");
  profile.seed = root.get_or("seed", integer<std::uint64_t>(), 1);
  const ExperimentParameters common = read_parameters(root, "common", folder);
  for (const Table& table : root.tables("premise")) profile.premises.push_back(read_premise(table));
  const std::vector<Table> scenarios = root.tables("scenario"), plots = root.tables("plot");
  for (const Table& table : scenarios)
    profile.scenarios.push_back(read_scenario(table, profile.scenarios.size(), common, folder));
  for (const Table& table : plots) profile.plots.push_back(read_plot(table));
  check_scenarios(scenarios, profile.scenarios, root);
  check_plots(plots, profile);
  root.finish();
  if (const auto verdict = document.verdict(); !verdict) return std::unexpected(verdict.error());
  return profile;
}

}  // namespace

ExperimentParameters merge_parameters(ExperimentParameters common,
                                      const ExperimentParameters& own) {
  for (const ExperimentParameter& parameter : own) {
    const auto same = std::ranges::find(common, parameter.name, &ExperimentParameter::name);
    same == common.end() ? common.push_back(parameter) : void(*same = parameter);
  }
  return common;
}

Result<ExperimentProfile> load_experiment_profile(const std::string& file) {
  auto document = Document::find(file, kExperimentProfiles);
  if (!document) return std::unexpected(document.error());
  return read_experiment(std::move(*document));
}

Result<ExperimentProfile> parse_experiment_profile(std::string_view text, std::string name) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  return read_experiment(std::move(*document));
}

}  // namespace lw::config
