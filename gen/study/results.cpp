// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/results.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

namespace lw::gen::experiment {
namespace {

std::optional<double> leading_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return *end == '%' ? value / 100 : value;
}

}  // namespace

std::optional<Spread> Results::figure(std::size_t cell, std::string_view name) const {
  std::optional<Spread> spread;
  double sum = 0;
  for (const report::Json& run : runs[cell]) {
    const auto found = run.find(name);
    if (found == run.end() || !found->is_number()) continue;
    const auto value = found->get<double>();
    if (!spread) spread = {value, 0, value};
    spread->min = std::min(spread->min, value);
    spread->max = std::max(spread->max, value);
    sum += value;
  }
  if (spread) {
    spread->average = sum / static_cast<double>(runs[cell].size());
    return spread;
  }
  const std::string* given = cells[cell].find(name);
  const auto value = given ? leading_number(*given) : std::nullopt;
  if (!value) return std::nullopt;
  return Spread{*value, *value, *value};
}

std::string Results::words(std::size_t cell, std::string_view name) const {
  if (const std::string* given = cells[cell].find(name))
    return name == "path" ? std::filesystem::path(*given).stem().string() : *given;
  for (const report::Json& run : runs[cell]) {
    const auto found = run.find(name);
    if (found != run.end() && found->is_string()) return found->get<std::string>();
  }
  const auto spread = figure(cell, name);
  return spread ? number(spread->average) : "";
}

std::vector<std::size_t> Results::cells_of(std::size_t scenario) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].scenario == scenario) found.push_back(i);
  return found;
}

std::string number(double value) {
  if (value == std::floor(value) && std::abs(value) < 1e9) return fmt::format("{:.0f}", value);
  if (std::abs(value) >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3g}", value);
}

}  // namespace lw::gen::experiment
