// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/report_json.h"

#include <nlohmann/json.hpp>

namespace lw::impair {
namespace {

using Json = nlohmann::ordered_json;

Json of_amount(const emulator::Amount& amount) {
  return {{"frames", amount.frames}, {"bytes", amount.bytes}};
}

Json of_account(const emulator::Account& account) {
  Json want;
  for (std::size_t i = 0; i < emulator::kResourceDrops; ++i)
    want[std::string(name_of(static_cast<emulator::ResourceDrop>(i)))] =
        of_amount(account.dropped_for_resource[i]);
  return {{"name", account.name},
          {"received", of_amount(account.received)},
          {"created", of_amount(account.created)},
          {"sent", of_amount(account.sent)},
          {"consumed", of_amount(account.consumed)},
          {"dropped_by_rule", of_amount(account.dropped_by_rule)},
          {"dropped_for_resource", std::move(want)},
          {"in_flight", of_amount(account.in_flight)},
          {"holds", account.holds()}};
}

Json of_spread(const Spread& spread) {
  return {{"count", spread.count}, {"min", spread.minimum}, {"p50", spread.p50},
          {"p99", spread.p99},     {"p99.9", spread.p999},  {"max", spread.maximum}};
}

Json of_check(const emulator::Check& check) {
  return {{"stage", name_of(check.stage)},
          {"what", check.what},
          {"frames", check.frames},
          {"asked", check.asked},
          {"seen", check.seen},
          {"low", check.low},
          {"high", check.high},
          {"holds", check.holds()}};
}

Json of_stages(const StagesReport& report) {
  const emulator::RuleStats& stats = report.stats;
  Json json = {{"rule", report.rule}, {"acted", Json::object()}, {"checks", Json::array()}};
  for (std::size_t i = 1; i < emulator::kStages; ++i)
    if (stats.acted[i] > 0)
      json["acted"][name_of(static_cast<emulator::Stage>(i))] = stats.acted[i];
  for (const auto& field : figures_of(stats).fields) {
    Json& group = field.group.empty() ? json : json[std::string(field.group)];
    group[std::string(field.name)] = field.is_list ? Json(field.list) : Json(field.value);
  }
  for (const emulator::Check& check : report.checks) json["checks"].push_back(of_check(check));
  return json;
}

Json of_direction(const DirectionReport& report) {
  Json json = of_account(report.accounting.direction);
  json["holds"] = report.accounting.holds();
  json["fragments"] = report.accounting.fragments;
  json["truncated"] = report.accounting.truncated;
  json["release_error_ns"] = of_spread(report.release_error);
  json["pass_latency_ns"] = of_spread(report.pass_latency);
  json["rules"] = Json::array();
  for (const auto& rule : report.accounting.rules) json["rules"].push_back(of_account(rule));
  json["stages"] = Json::array();
  for (const auto& stages : report.stages) json["stages"].push_back(of_stages(stages));
  for (const auto& event : report.events.outcomes)
    json["events"].push_back(
        {{"name", event.name}, {"happened", event.happened}, {"all", event.all}});
  if (const emulator::EventHits& hits = report.events.hits; hits.packets > 0)
    json["event_packets"] = {{"fell_on", hits.packets},
                             {"carried_out", hits.carried_out},
                             {"lost_before", hits.lost_before},
                             {"holds", hits.holds()}};
  if (report.events.untracked) json["untracked"] = report.events.untracked;
  return json;
}

Json of_port(const PortReport& port) {
  return {{"side", port.side},    {"port", port.port},     {"received", port.received},
          {"sent", port.sent},    {"missed", port.missed}, {"no_buffer", port.no_buffer},
          {"errors", port.errors}};
}

}  // namespace

nlohmann::ordered_json to_json(const Report& report) {
  Json json = {{"command", report.command},
               {"profile", report.profile},
               {"seed", report.seed},
               {"seconds", report.seconds},
               {"identity_holds", report.accounts_hold()},
               {"stages_hold", report.stages_hold()},
               {"releases_hold", report.releases_hold()},
               {"directions", Json::array()}};
  for (const auto& direction : report.directions)
    json["directions"].push_back(of_direction(direction));
  for (const auto& port : report.ports) json["ports"].push_back(of_port(port));
  if (report.scenario)
    json["scenario"] = {{"done", report.scenario->done},
                        {"failed", report.scenario->failed},
                        {"all", report.scenario->all},
                        {"latest_ns", report.scenario->latest.count()}};
  if (report.capture)
    json["capture"] = {{"file", report.capture->file},
                       {"frames", report.capture->frames},
                       {"skipped", report.capture->skipped}};
  if (report.ledger)
    json["ledger"] = {{"file", report.ledger->file},
                      {"records", report.ledger->records},
                      {"skipped", report.ledger->skipped}};
  if (report.held_up) json["held_up_ns"] = report.held_up->count();
  if (report.stamps_backwards) json["stamps_backwards"] = report.stamps_backwards;
  return json;
}

}  // namespace lw::impair
