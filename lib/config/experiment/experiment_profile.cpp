// SPDX-License-Identifier: BSD-3-Clause
#include "config/experiment/experiment_profile.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "config/experiment/experiment_sections.h"
#include "config/toml/document.h"

namespace lw::config {
namespace {

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
  scenario.parameters = over(common, read_parameters(table, "set", folder));
  scenario.full = read_parameters(table, "full", folder);
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
          "name", fmt::format("expected a name of its own, found \"{}\" again", scenarios[i].name));
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
  premise.parameter = table.require("parameter", read_text, "what it is").value_or("");
  premise.value = table.require("value", read_text, "what it was set to").value_or("");
  premise.basis = table.require("basis", choice(kBases), "where it is from").value_or("");
  premise.why = table.get_or("why", read_text, "");
  table.finish();
  return premise;
}

Result<ExperimentProfile> read_profile(Document document) {
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

Result<ExperimentProfile> load_experiment_profile(const std::string& file) {
  auto document = Document::load(file);
  if (!document) return std::unexpected(document.error());
  return read_profile(std::move(*document));
}

Result<ExperimentProfile> parse_experiment_profile(std::string_view text, std::string name) {
  auto document = Document::parse(text, std::move(name));
  if (!document) return std::unexpected(document.error());
  return read_profile(std::move(*document));
}

}  // namespace lw::config
