// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/rule_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/quantity.h"
#include "impair/report/match_text.h"

namespace lw::impair {
namespace {

using Json = nlohmann::ordered_json;

template <class Config>
std::string_view ways_of(const Config& config) {
  using enum emulator::Direction;
  if (config.applies(west_to_east) && config.applies(east_to_west)) return "both ways";
  return name_of(config.applies(west_to_east) ? west_to_east : east_to_west);
}

Json rule_json(const emulator::RuleConfig& rule) {
  Json json = {{"name", rule.name},
               {"match", to_text(rule.match)},
               {"direction", ways_of(rule)},
               {"delay_ns", nullptr},
               {"loss", expected_loss(rule.loss, 1024)}};
  if (rule.delay) json["delay_ns"] = rule.delay->count();
  for (const auto& [stage, text] : stage_texts(rule)) json["stages"][std::string(stage)] = text;
  return json;
}

}  // namespace

std::string rules_text(const config::ImpairProfile& profile) {
  std::string text;
  for (const auto& rule : profile.rules) {
    text += fmt::format("rule {}: {}, {}\n", rule.name, to_text(rule.match), ways_of(rule));
    const auto stages = stage_texts(rule);
    for (const auto& [stage, what] : stages) text += fmt::format("  {:<28}{}\n", stage, what);
    if (stages.empty()) text += "  passes at once\n";
  }
  return text;
}

std::string events_text(const config::ImpairProfile& profile) {
  std::string text;
  for (const auto& event : profile.events)
    text += fmt::format("event {}: {}, {}\n", event.name, ways_of(event), to_text(event));
  return text;
}

Json events_json(const config::ImpairProfile& profile) {
  Json json = Json::array();
  for (const auto& event : profile.events)
    json.push_back({{"name", event.name}, {"direction", ways_of(event)}, {"what", to_text(event)}});
  return json;
}

Json rules_json(const config::ImpairProfile& profile) {
  Json json = Json::array();
  for (const auto& rule : profile.rules) json.push_back(rule_json(rule));
  return json;
}

namespace {

std::string links_text(const config::LinkChange& links) {
  const std::string_view port = links.west && links.east ? "both ports"
                                : links.west             ? "west"
                                                         : "east";
  return fmt::format("{} {}", port, links.up ? "up" : "down");
}

std::string edit_text(const config::Edit& edit) {
  const std::string whose = edit.table.empty() ? "" : edit.name + " ";
  return fmt::format("{}{} = {}", whose, edit.key, describe(*edit.parsed));
}

std::string step_text(const config::ScenarioStep& step) {
  std::string text = step.links ? links_text(*step.links) : "";
  for (const auto& edit : step.edits) text += (text.empty() ? "" : ", ") + edit_text(edit);
  return text;
}

}  // namespace

std::string scenario_text(const config::ImpairProfile& profile) {
  std::string text;
  for (const auto& act : profile.acts) {
    text += fmt::format("{} {}: {}", act.kind, act.name,
                        act.time ? "at " + format_duration(*act.time) : "on command");
    if (act.ramp > 0)
      text += fmt::format(", over {} in {} steps", format_duration(act.over), act.ramp);
    text += '\n';
    for (const auto& step : act.steps)
      text += fmt::format("  + {:<26}{}\n",
                          format_duration(step.at + (act.ramp ? act.over : Duration{})),
                          step_text(step));
  }
  return text;
}

Json scenario_json(const config::ImpairProfile& profile) {
  Json json = Json::array();
  for (const auto& act : profile.acts) {
    Json one = {{"kind", act.kind}, {"name", act.name}, {"time_ns", nullptr}};
    if (act.time) one["time_ns"] = act.time->count();
    if (act.ramp > 0) one["ramp"] = {{"over_ns", act.over.count()}, {"steps", act.ramp}};
    for (const auto& step : act.steps)
      one["steps"].push_back({{"after_ns", step.at.count()}, {"what", step_text(step)}});
    json.push_back(std::move(one));
  }
  return json;
}

}  // namespace lw::impair
