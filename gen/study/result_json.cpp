// SPDX-License-Identifier: BSD-3-Clause
#include "gen/study/result_files.h"

namespace lw::gen::experiment {
namespace {

using report::Json;

Json to_json(const Compared& compared, const config::ExperimentComparison& asked) {
  Json json = {{"row", compared.row},
               {"column", asked.columns[compared.column].published},
               {"published", compared.published},
               {"ours", compared.ours},
               {"holds", compared.holds}};
  if (compared.difference) {
    json["difference"] = *compared.difference;
  } else {
    json["agrees"] = compared.agrees;
  }
  if (!compared.remark.empty()) json["remark"] = compared.remark;
  return json;
}

Json cell_json(const Results& results, std::size_t cell) {
  Json point = Json::object();
  for (const auto& [name, value] : results.cells[cell].point) point[name] = value;
  return {{"scenario", results.profile.scenarios[results.cells[cell].scenario].name},
          {"parameters", point},
          {"by_chance", results.cells[cell].work.by_chance},
          {"runs", results.runs[cell]}};
}

}  // namespace

std::string to_json(const Outcome& outcome) {
  const Results& results = outcome.results;
  Json premises = Json::array();
  for (const auto& premise : results.profile.premises)
    premises.push_back({{"parameter", premise.parameter},
                        {"value", premise.value},
                        {"basis", premise.basis},
                        {"why", premise.why}});
  Json cells = Json::array(), comparisons = Json::array();
  for (std::size_t i = 0; i < results.cells.size(); ++i) cells.push_back(cell_json(results, i));
  for (std::size_t s = 0; s < outcome.compared.size(); ++s) {
    const auto& scenario = results.profile.scenarios[s];
    for (const Compared& compared : outcome.compared[s]) {
      Json json = to_json(compared, *scenario.compare);
      json["scenario"] = scenario.name;
      comparisons.push_back(std::move(json));
    }
  }
  return report::json_line({{"name", results.profile.name},
                            {"title", results.profile.title},
                            {"seed", results.profile.seed},
                            {"full", results.changes.full},
                            {"premises", premises},
                            {"cells", cells},
                            {"comparisons", comparisons}});
}

}  // namespace lw::gen::experiment
