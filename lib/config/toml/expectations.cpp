// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/expectations.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace lw::config {
namespace {

/// Converts the `value` of a key to the end of an expectation: "< 2%", "<= 3", "== true".
Parsed<std::string> comparison_of(const Value& value) {
  if (const bool* truth = std::get_if<bool>(&value.data))
    return std::string(*truth ? "== true" : "== false");
  const std::string text = text_of(value);
  if (text.empty())
    return std::unexpected("expected a limit such as \"< 2%\", 3 or true, found " +
                           describe(value));
  const bool compares = text.find_first_of("<>=!") != std::string::npos;
  return compares ? text : "<= " + text;
}

Parsed<std::vector<Expectation>> expectations_of(const std::string& path, const Value& value) {
  std::vector<Expectation> found;
  const Array one = {value};
  const auto* list = std::get_if<Array>(&value.data);
  if (list != nullptr && list->empty())
    return std::unexpected("expected at least one limit such as \"< 2%\", found []");
  for (const Value& each : list != nullptr ? *list : one) {
    const auto comparison = comparison_of(each);
    if (!comparison) return std::unexpected(comparison.error());
    auto expectation = parse_expectation(fmt::format("{} {}", path, *comparison));
    if (!expectation) return std::unexpected(expectation.error());
    found.push_back(std::move(*expectation));
  }
  return found;
}

/// Adds the expectations of a key, for the figure `name`.
void add_limits(const Table& table, std::string_view key, const std::string& name,
                std::vector<Expectation>& all) {
  auto found = table.get(key, [&](const Value& value) { return expectations_of(name, value); });
  for (Expectation& each : found.value_or(std::vector<Expectation>())) {
    each.place = table.place(key);
    all.push_back(std::move(each));
  }
}

void read_table(const Table& table, const std::string& path,
                const std::vector<std::string_view>& others, std::vector<Expectation>& all) {
  for (const std::string_view key : table.keys()) {
    if (std::ranges::find(others, key) != others.end()) continue;
    const std::string name = path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
    if (table.get(key, is_table).value_or(false)) {
      const auto inner = table.table(key);
      if (inner && inner->keys().empty())
        table.refuse(key, "expected at least one limit such as p99 = \"< 2ms\", found {}");
      if (inner) read_table(*inner, name, {}, all);
      continue;
    }
    add_limits(table, key, name, all);
  }
}

}  // namespace

std::vector<Expectation> read_expectations(const Table& table,
                                           const std::vector<std::string_view>& others) {
  std::vector<Expectation> all;
  read_table(table, {}, others, all);
  return all;
}

std::vector<Expectation> read_limits(const Table& table, const Question& question) {
  std::vector<Expectation> all;
  add_limits(table, question.name, std::string(question.name), all);
  for (const Expectation& each : all)
    if (const auto fits = check_limit(each, question.unit); !fits)
      table.refuse(question.name, fits.error());
  return all;
}

}  // namespace lw::config
