// SPDX-License-Identifier: BSD-3-Clause
#include "report/judgement.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"

namespace lw::report {
namespace {

using ValueUnit = Expectation::Unit;
using Figures = std::vector<std::pair<std::string, const Json*>>;

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

/// The name of a list's element; its index where it has none.
std::string label_of(const Json& element, std::size_t index) {
  if (element.is_object()) {
    for (const char* key : {"name", "direction", "port"})
      if (element.contains(key) && element[key].is_string()) return element[key];
    if (!element.empty() && element.front().is_string()) return element.front();
  }
  return fmt::to_string(index);
}

}  // namespace

Figures children_of(const Json& node) {
  Figures children;
  if (node.is_object())
    for (const auto& [key, value] : node.items()) children.emplace_back(key, &value);
  if (node.is_array())
    for (std::size_t i = 0; i < node.size(); ++i)
      children.emplace_back(label_of(node[i], i), &node[i]);
  return children;
}

namespace {

/// What follows `key` in `name`: nothing where `name` does not begin with it.
std::optional<std::string_view> behind(std::string_view name, std::string_view key) {
  if (name == key) return std::string_view{};
  const bool longer = name.size() > key.size() + 1 && name.starts_with(key);
  if (longer && name[key.size()] == '.') return name.substr(key.size() + 1);
  return std::nullopt;
}

/// What a table says of a node of a report; no type: the table has no such node.
struct Described {
  const FigureType* type = nullptr;
  Unit unit = Unit::none;
};

/// The row of a key; null without one.
const Figure* row_of(const FigureTable& table, std::string_view key) {
  const Figure* found = nullptr;
  for (const Figure& row : table.rows) {
    const Figure* here = row.name == key ? &row : nullptr;
    if (row.name.empty()) here = row_of(row.type->table(), key);
    if (here != nullptr) found = here;
  }
  return found;
}

Described child_of(const Described& parent, std::string_view key) {
  if (parent.type == nullptr) return {};
  if (parent.type->element != nullptr) return {parent.type->element, parent.unit};
  if (parent.type->table == nullptr) return {};
  const Figure* row = row_of(parent.type->table(), key);
  return row == nullptr ? Described{} : Described{row->type, row->unit};
}

struct Found {
  std::string path;
  const Json* node = nullptr;
  Described described = {};
};

/// Adds what `name` stands for below `parent`.
void find(const Found& parent, std::string_view name, std::vector<Found>& found) {
  if (name.empty()) return found.push_back(parent);
  std::size_t index = 0;
  for (const auto& [key, child] : children_of(*parent.node)) {
    auto rest = behind(name, key);
    if (!rest) rest = behind(name, "*");
    if (!rest && parent.node->is_array()) rest = behind(name, fmt::to_string(index));
    if (rest)
      find({joined(parent.path, key), child, child_of(parent.described, key)}, *rest, found);
    ++index;
  }
}

/// Adds the paths of all numbers and truth values.
void list_figures(const Json& node, const std::string& path, std::vector<std::string>& paths) {
  constexpr std::size_t kMost = 20'000;
  if (paths.size() >= kMost) return;
  if (node.is_number() || node.is_boolean()) paths.push_back(path);
  for (const auto& [key, child] : children_of(node)) list_figures(*child, joined(path, key), paths);
}

std::string_view last_key(std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

/// Up to three: those that end as `name` does, otherwise the one that is spelt nearly so.
std::vector<std::string> near_names(const Json& report, std::string_view name) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> paths, near;
  list_figures(report, {}, paths);
  for (const std::string& path : paths)
    if (near.size() < kMost && last_key(path) == last_key(name)) near.push_back(path);
  if (!near.empty()) return near;
  const std::vector<std::string_view> views(paths.begin(), paths.end());
  if (const std::string_view nearby = nearest(name, views); !nearby.empty())
    return {std::string(nearby)};
  std::vector<std::string_view> keys;
  for (const std::string& path : paths) keys.push_back(last_key(path));
  const std::string_view key = nearest(last_key(name), keys);
  for (std::size_t i = 0; i < paths.size() && near.size() < kMost; ++i)
    if (!key.empty() && keys[i] == key) near.push_back(paths[i]);
  return near;
}

std::string no_figure(const Json& report, std::string_view name) {
  const auto near = near_names(report, name);
  if (near.empty())
    return fmt::format("the report has no figure \"{}\": --json shows all of them", name);
  return fmt::format("the report has no figure \"{}\": did you mean \"{}\"?", name,
                     fmt::join(near, "\", \""));
}

/// What a figure counts: one of it is `scale` of the unit.
struct Scale {
  ValueUnit unit{};
  double scale = 1;
};
struct Suffix {
  std::string_view text;
  Scale scale;
};
// The longer ones first.
constexpr Suffix kSuffixes[] = {{"bits_per_second", {ValueUnit::rate, 1}},
                                {"_gbps", {ValueUnit::rate, 1e9}},
                                {"_bps", {ValueUnit::rate, 1}},
                                {"_usec", {ValueUnit::time, 1e3}},
                                {"_ns", {ValueUnit::time, 1}},
                                {"_us", {ValueUnit::time, 1e3}},
                                {"_ms", {ValueUnit::time, 1e6}},
                                {"seconds", {ValueUnit::time, 1e9}},
                                {"percent", {ValueUnit::share, 0.01}},
                                {"bytes", {ValueUnit::size, 1}}};

/// What the last key with a unit in a figure's path says: latency_ns.p99 is in ns.
Scale scale_of(std::string_view path) {
  while (!path.empty()) {
    const std::string_view key = last_key(path);
    for (const Suffix& suffix : kSuffixes)
      if (key.ends_with(suffix.text)) return suffix.scale;
    if (key.starts_with("rate_")) return {ValueUnit::rate, 1};
    path.remove_suffix(std::min(path.size(), key.size() + 1));
  }
  return {ValueUnit::none, 1};
}

Scale scale_of(Unit unit) noexcept {
  switch (unit) {
    case Unit::ns:
      return {ValueUnit::time, 1};
    case Unit::us:
      return {ValueUnit::time, 1e3};
    case Unit::s:
      return {ValueUnit::time, 1e9};
    case Unit::bytes:
      return {ValueUnit::size, 1};
    case Unit::bits_per_second:
      return {ValueUnit::rate, 1};
    case Unit::gbps:
      return {ValueUnit::rate, 1e9};
    case Unit::percent:
      return {ValueUnit::share, 0.01};
    case Unit::none:
    case Unit::frames:
      break;
  }
  return {ValueUnit::none, 1};
}

/// The expectation's value in the figure's own unit; an error where the kinds differ.
Parsed<double> limit_for(const Expectation& expectation, const Found& found) {
  const auto& [path, node, described] = found;
  const Json& figure = *node;
  const auto differs = [&](std::string_view what) {
    return std::unexpected(fmt::format("{} is {}: expected {} to compare it with, found {}", path,
                                       what, what, expectation.limit));
  };
  if (figure.is_boolean() || expectation.unit == ValueUnit::truth) {
    if (figure.is_boolean() && expectation.unit == ValueUnit::truth) return expectation.value;
    return differs(unit_text(figure.is_boolean() ? ValueUnit::truth : ValueUnit::none));
  }
  if (expectation.unit == ValueUnit::none) return expectation.value;
  const Scale scale = described.type ? scale_of(described.unit) : scale_of(path);
  if (scale.unit != expectation.unit &&
      !(scale.unit == ValueUnit::none && expectation.unit == ValueUnit::share))
    return differs(unit_text(scale.unit));
  return expectation.value / scale.scale;
}

double number_of(const Json& figure) {
  return figure.is_boolean() ? (figure.get<bool>() ? 1 : 0) : figure.get<double>();
}

Judgement judge_one(const Expectation& expectation, const Found& found) {
  const auto& [path, node, described] = found;
  const Json& figure = *node;
  Judgement judgement{expectation.text, path, expectation.limit, nullptr};
  if (figure.is_null()) return judgement;  // nothing was measured
  if (!figure.is_number() && !figure.is_boolean()) {
    judgement.error = fmt::format("{} is not a figure: it is of type {}", path, figure.type_name());
    return judgement;
  }
  judgement.measured = figure;
  const auto limit = limit_for(expectation, found);
  if (limit) {
    judgement.holds = expectation.compares(number_of(figure), *limit);
  } else {
    judgement.error = limit.error();
  }
  return judgement;
}

}  // namespace

Figures figures_named(const Json& report, std::string_view name) {
  std::vector<Found> found;
  find({{}, &report}, name, found);
  Figures figures;
  for (const Found& each : found) figures.emplace_back(each.path, each.node);
  return figures;
}

std::vector<Judgement> judge(const Expectation& expectation, const Json& report,
                             const JsonOutput* output) {
  const FigureType whole{.shape = FigureType::Shape::object,
                         .table = output ? output->figures : nullptr};
  std::vector<Found> found;
  find({{}, &report, {&whole, Unit::none}}, expectation.name, found);
  std::vector<Judgement> judgements;
  for (const Found& each : found) judgements.push_back(judge_one(expectation, each));
  if (judgements.empty())
    judgements.push_back({expectation.text, expectation.name, expectation.limit, nullptr, false,
                          no_figure(report, expectation.name)});
  return judgements;
}

std::optional<FigureValue> Judgement::value() const {
  if (measured.is_boolean()) return measured.get<bool>();
  if (measured.is_number_unsigned()) return measured.get<std::uint64_t>();
  if (measured.is_number_integer()) return measured.get<std::int64_t>();
  if (measured.is_number()) return measured.get<double>();
  return std::nullopt;
}

const FigureTable& Judgement::figures() {
  using Row = FigureOf<Judgement>;
  static constexpr Figure kRows[] = {
      Row::of<&Judgement::expected>("expected", "The expectation."),
      Row::of<&Judgement::figure>("figure", "Path of the figure."),
      Row::of<&Judgement::value>("measured", "The figure; null without one.").or_null(),
      Row::of<&Judgement::holds>("holds", "True if it holds."),
      Row::of<&Judgement::error>("error", "Why it cannot be judged.").if_any()};
  static constexpr FigureTable kTable{"An expectation, judged by a figure.", kRows};
  return kTable;
}

TestCase test_case_of(const Judgement& judgement, std::string suite) {
  return {.suite = std::move(suite),
          .name = judgement.figure + " " + judgement.limit,
          .measured = judgement.measured.is_null() ? "none" : judgement.measured.dump(),
          .expected = judgement.limit,
          .passed = judgement.holds,
          .error = judgement.error};
}

}  // namespace lw::report
