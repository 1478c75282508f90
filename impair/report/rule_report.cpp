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
  using enum path::Direction;
  if (config.applies(west_to_east) && config.applies(east_to_west)) return "both ways";
  return name_of(config.applies(west_to_east) ? west_to_east : east_to_west);
}

Json rule_json(const path::RuleConfig& rule) {
  Json json = {{"name", rule.name},
               {"match", to_text(rule.match)},
               {"direction", ways_of(rule)},
               {"delay_ns", nullptr},
               {"loss", expected_loss(rule.loss, 1024)}};
  if (rule.delay) json["delay_ns"] = rule.delay->count();
  return json;
}

}  // namespace

std::string rules_text(const profile::ImpairProfile& profile) {
  std::string text;
  for (const auto& rule : profile.rules)
    text += fmt::format("rule {}: {}, {}: delay {}, loss {}\n", rule.name, to_text(rule.match),
                        ways_of(rule), rule.delay ? format_duration(*rule.delay) : "none",
                        describe(rule.loss));
  return text;
}

std::string events_text(const profile::ImpairProfile& profile) {
  std::string text;
  for (const auto& event : profile.events)
    text += fmt::format("event {}: {}, {}\n", event.name, ways_of(event), to_text(event));
  return text;
}

Json events_json(const profile::ImpairProfile& profile) {
  Json json = Json::array();
  for (const auto& event : profile.events)
    json.push_back({{"name", event.name}, {"direction", ways_of(event)}, {"what", to_text(event)}});
  return json;
}

Json rules_json(const profile::ImpairProfile& profile) {
  Json json = Json::array();
  for (const auto& rule : profile.rules) json.push_back(rule_json(rule));
  return json;
}

}  // namespace lw::impair
