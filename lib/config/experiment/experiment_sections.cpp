// SPDX-License-Identifier: BSD-3-Clause
#include "config/experiment/experiment_sections.h"

#include <algorithm>

namespace lw::config {
namespace {

Parsed<ExperimentValue> read_one(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value.data))
    return ExperimentValue{*flag ? "true" : "false", value.at};
  std::string text = text_of(value);
  if (text.empty())
    return std::unexpected("expected a value or a list of them, found " + describe(value));
  return ExperimentValue{std::move(text), value.at};
}

/// The reader of a parameter's values.
Parsed<std::vector<ExperimentValue>> read_values(const Value& value) {
  return some_of(read_one)(value);
}

bool names_file(std::string_view parameter) noexcept { return parameter == "path"; }

std::string beside(const std::filesystem::path& folder, const std::string& file) {
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
  column.ours = table.require("ours", read_text, "a figure of ours").value_or("");
  column.within = table.get("within", parse_probability);
  table.finish();
  return column;
}

ExperimentComparison::Remark read_remark(const Table& table) {
  ExperimentComparison::Remark remark;
  remark.row = table.require("row", read_text, "the cells that name a row").value_or("");
  remark.text = table.require("text", read_text, "what is to be known").value_or("");
  remark.excused = table.get_or("excused", read_boolean, false);
  table.finish();
  return remark;
}

constexpr Choice<PlotScale> kScales[] = {
    {"linear", PlotScale::linear}, {"log", PlotScale::log}, {"binary", PlotScale::binary}};

}  // namespace

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
      if (names_file(name)) value.text = beside(folder, value.text);
    const Position at = values->front().at;
    parameters.push_back({std::string(name), at, std::move(*values)});
  }
  section->finish();
  std::ranges::sort(parameters, {}, &ExperimentParameter::at);
  return parameters;
}

ExperimentParameters over(ExperimentParameters common, const ExperimentParameters& own) {
  for (const ExperimentParameter& parameter : own) {
    const auto same = std::ranges::find(common, parameter.name, &ExperimentParameter::name);
    same == common.end() ? common.push_back(parameter) : void(*same = parameter);
  }
  return common;
}

std::optional<ExperimentComparison> read_comparison(const Table& table,
                                                    const std::filesystem::path& folder) {
  const auto section = table.table("compare");
  if (!section) return std::nullopt;
  ExperimentComparison comparison;
  comparison.at = section->position();
  comparison.table =
      beside(folder, section->require("table", read_text, "a CSV file").value_or(""));
  comparison.rows = read_pairs(*section, "rows");
  if (comparison.rows.empty())
    section->refuse("rows", "expected the columns that name a row, found none");
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
  plot.name = table.require("name", read_file_stem, "the name of its file").value_or("");
  plot.title = table.get_or("title", read_text, plot.name);
  plot.scenarios = table.get_or("scenario", list_of(read_text), {});
  plot.only = read_pairs(table, "only");
  plot.x = table.require("x", read_text, "a figure or a parameter").value_or("");
  plot.y = table.require("y", read_text, "a figure").value_or("");
  plot.x_label = table.get_or("x_label", read_text, plot.x);
  plot.y_label = table.get_or("y_label", read_text, plot.y);
  plot.x_scale = table.get_or("x_scale", choice(kScales), PlotScale::linear);
  plot.y_scale = table.get_or("y_scale", choice(kScales), PlotScale::linear);
  plot.curves = table.get_or("curves", list_of(read_text), {});
  plot.series = table.get_or("series", read_text, "");
  plot.published = table.get_or("published", read_boolean, false);
  table.finish();
  return plot;
}

}  // namespace lw::config
