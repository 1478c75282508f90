// SPDX-License-Identifier: BSD-3-Clause
#include "report/figure_paths.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/names.h"

namespace lw::report {
namespace {

using Shape = FigureType::Shape;
using ValueUnit = Expectation::Unit;
using Children = std::vector<std::pair<std::string, const Json*>>;

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

Children children_of(const Json& node) {
  Children children;
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

/// Adds what `name` stands for below `parent`.
void find(const FoundFigure& parent, std::string_view name, std::vector<FoundFigure>& found) {
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

/// Up to three of the paths: those that end as `name` does, otherwise those with the nearest
/// spelling.
std::vector<std::string> near_names(const std::vector<std::string>& paths, std::string_view name) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> near;
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

std::string no_figure(const std::vector<std::string>& paths, std::string_view name) {
  const auto near = near_names(paths, name);
  if (near.empty())
    return fmt::format("the report has no figure \"{}\": --json shows all of them", name);
  return fmt::format("the report has no figure \"{}\": did you mean \"{}\"?", name,
                     fmt::join(near, "\", \""));
}

struct Suffix {
  std::string_view text;
  FigureScale scale;
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
FigureScale scale_of(std::string_view path) {
  while (!path.empty()) {
    const std::string_view key = last_key(path);
    for (const Suffix& suffix : kSuffixes)
      if (key.ends_with(suffix.text)) return suffix.scale;
    if (key.starts_with("rate_")) return {ValueUnit::rate, 1};
    path.remove_suffix(std::min(path.size(), key.size() + 1));
  }
  return {ValueUnit::none, 1};
}

FigureScale scale_of(Unit unit) noexcept {
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
    case Unit::mbps:
      return {ValueUnit::rate, 1e6};
    case Unit::gbps:
      return {ValueUnit::rate, 1e9};
    case Unit::percent:
      return {ValueUnit::share, 0.01};
    case Unit::share:
      return {ValueUnit::share, 1};
    case Unit::none:
    case Unit::frames:
      break;
  }
  return {ValueUnit::none, 1};
}

bool has_children(Shape shape) noexcept {
  return shape == Shape::object || shape == Shape::list || shape == Shape::map;
}

/// Adds the paths of all figures that a report of the table may have, with * for a list's elements.
void list_figures(const FigureTable& table, const std::string& path,
                  std::vector<std::string>& paths);
void list_figures(const FigureType& type, const std::string& path,
                  std::vector<std::string>& paths) {
  if (type.shape == Shape::object) return list_figures(type.table(), path, paths);
  if (has_children(type.shape)) return list_figures(*type.element, joined(path, "*"), paths);
  if (type.shape != Shape::text) paths.push_back(path);
}
void list_figures(const FigureTable& table, const std::string& path,
                  std::vector<std::string>& paths) {
  for (const Figure& row : table.rows)
    list_figures(*row.type, row.name.empty() ? path : joined(path, row.name), paths);
}

using Possible = std::vector<std::pair<std::string, Described>>;

void add_possible(const Described& node, const std::string& path, std::string_view name,
                  Possible& found);

/// Adds those of the elements of a list: any text may be the name of one.
void add_elements(const Described& list, const std::string& path, std::string_view name,
                  Possible& found) {
  for (std::size_t end = 0; end < name.size();) {
    end = std::min(name.find('.', end + 1), name.size());
    const std::string_view rest = name.substr(std::min(end + 1, name.size()));
    add_possible({list.type->element, list.unit}, joined(path, name.substr(0, end)), rest, found);
  }
}

/// Adds what `name` may stand for below a node in a report of the table: values, no structures.
void add_possible(const Described& node, const std::string& path, std::string_view name,
                  Possible& found) {
  const bool is_json = node.type->shape == Shape::json;
  if (is_json || (name.empty() && !has_children(node.type->shape)))
    return found.emplace_back(path, node), void();
  if (name.empty() || !has_children(node.type->shape)) return;
  if (node.type->shape != Shape::object) return add_elements(node, path, name, found);
  for (const Figure& row : node.type->table().rows) {
    const Described child{row.type, row.unit};
    if (row.name.empty()) {
      add_possible(child, path, name, found);
      continue;
    }
    auto rest = behind(name, row.name);
    if (!rest) rest = behind(name, "*");
    if (rest) add_possible(child, joined(path, row.name), *rest, found);
  }
}

/// Checks that a value of `expectation` may be compared with what the table says of a figure.
Parsed<void> check_described(const Expectation& expectation, const std::string& path,
                             const Described& described) {
  switch (described.type->shape) {
    case Shape::text:
      return std::unexpected(path + " is not a figure: it is of type string");
    case Shape::truth:
      return check_kind(expectation, path, ValueUnit::truth);
    case Shape::json:
    case Shape::field:
    case Shape::figure:
      return {};
    default:
      return check_kind(expectation, path, scale_of(described.unit).unit);
  }
}

}  // namespace

std::vector<FoundFigure> figures_named(const Json& report, std::string_view name,
                                       const JsonOutput* output) {
  const FigureType whole{.shape = Shape::object, .table = output ? output->figures : nullptr};
  std::vector<FoundFigure> found;
  find({{}, &report, {&whole, Unit::none}}, name, found);
  return found;
}

std::string no_figure(const Json& report, std::string_view name) {
  std::vector<std::string> paths;
  list_figures(report, {}, paths);
  return no_figure(paths, name);
}

FigureScale scale_of(const FoundFigure& figure) {
  if (figure.node->is_boolean()) return {ValueUnit::truth, 1};
  return figure.described.type ? scale_of(figure.described.unit) : scale_of(figure.path);
}

Parsed<void> check_figure(const Expectation& expectation, const JsonOutput& output) {
  const FigureType whole{.shape = Shape::object, .table = output.figures};
  Possible possible;
  add_possible({&whole, Unit::none}, {}, expectation.name, possible);
  Parsed<void> checked;
  for (const auto& [path, described] : possible) {
    checked = check_described(expectation, path, described);
    if (checked) return checked;
  }
  if (!possible.empty()) return checked;
  std::vector<std::string> paths;
  list_figures(output.figures(), {}, paths);
  return std::unexpected(no_figure(paths, expectation.name));
}

Parsed<void> check_kind(const Expectation& expectation, std::string_view path, ValueUnit unit) {
  const bool fits = expectation.unit == unit ||
                    (expectation.unit == ValueUnit::none && unit != ValueUnit::truth) ||
                    (expectation.unit == ValueUnit::share && unit == ValueUnit::none);
  if (fits) return {};
  return std::unexpected(fmt::format("{} is {}: expected {} to compare it with, found {}", path,
                                     unit_text(unit), unit_text(unit), expectation.limit));
}

}  // namespace lw::report
