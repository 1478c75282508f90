// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/machine_json.h"

#include <algorithm>

#include <fmt/format.h>

namespace lw::gen {

using report::Json;

Duration time_in(const Json& json) { return Duration{json.get<Duration::rep>()}; }

Json machine_json(const Machine& machine) {
  Json losses = Json::array();
  for (const OwnLoss& loss : machine.losses) {
    losses.push_back({{"place", loss.place},
                      {"how", loss.how},
                      {"lost", loss.lost},
                      {"frames", loss.frames},
                      {"remedy", loss.remedy}});
    if (loss.first) losses.back()["first"] = loss.first->count();
    if (loss.last) losses.back()["last"] = loss.last->count();
  }
  return {{"losses", std::move(losses)},
          {"stalls", machine.stalls.count},
          {"stalled", machine.stalls.total.count()},
          {"longest", machine.stalls.longest.count()},
          {"longest_at", machine.stalls.longest_at.count()},
          {"elapsed", machine.elapsed.count()}};
}

void add_machine(Machine& whole, const std::string& host, const Json& json) {
  for (const Json& each : json.at("losses")) {
    OwnLoss& loss = whole.losses.emplace_back();
    loss.place = fmt::format("{} of {}", each.at("place").get<std::string>(), host);
    loss.how = each.at("how").get<std::string>();
    loss.lost = each.at("lost").get<std::uint64_t>();
    loss.frames = each.at("frames").get<std::uint64_t>();
    loss.remedy = each.at("remedy").get<std::string>();
    if (each.contains("first")) loss.first = time_in(each["first"]);
    if (each.contains("last")) loss.last = time_in(each["last"]);
  }
  whole.stalls.add({.watched = true,
                    .count = json.at("stalls").get<std::uint64_t>(),
                    .total = time_in(json.at("stalled")),
                    .longest = time_in(json.at("longest")),
                    .longest_at = time_in(json.at("longest_at"))});
  whole.elapsed = std::max(whole.elapsed, time_in(json.at("elapsed")));
}

}  // namespace lw::gen
