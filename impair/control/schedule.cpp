// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/schedule.h"

#include <algorithm>

namespace lw::impair {

void Schedule::begin(std::span<const config::ScenarioStep> steps) {
  scenario_.clear();
  for (const auto& step : steps) scenario_.push_back({step, true});
}

void Schedule::begin(std::span<const config::ScenarioStep> steps, Instant now) {
  begin(steps);
  for (Item& item : scenario_) {
    item.step.at += now.time_since_epoch();
    item.since_zero = false;
  }
}

void Schedule::add(std::span<const config::ScenarioStep> steps, Instant now,
                   const std::string& client) {
  for (auto step : steps) {
    step.at += now.time_since_epoch();
    commands_.push_back({std::move(step), false, client});
  }
  std::ranges::stable_sort(commands_, {}, [](const Item& item) { return item.step.at; });
}

bool Schedule::scenario_first(std::optional<Instant> zero) const noexcept {
  if (scenario_.empty() || commands_.empty()) return commands_.empty();
  const auto due = scenario_.front().due(zero);
  return due && *due <= *commands_.front().due(zero);
}

bool Schedule::changes_links() const noexcept {
  const auto changes = [](const Item& item) { return item.step.links.has_value(); };
  return std::ranges::any_of(scenario_, changes) || std::ranges::any_of(commands_, changes);
}

const Schedule::Item* Schedule::next(std::optional<Instant> zero) const noexcept {
  if (scenario_.empty() && commands_.empty()) return nullptr;
  return scenario_first(zero) ? &scenario_.front() : &commands_.front();
}

std::vector<OverdueAct> Schedule::overdue(std::optional<Instant> zero, Instant by) const {
  std::vector<OverdueAct> acts;
  for (const auto* items : {&scenario_, &commands_})
    for (const Item& item : *items) {
      const auto due = item.due(zero);
      if (!due || *due > by) break;
      const auto known = std::ranges::find(acts, item.step.act, &OverdueAct::name);
      if (known == acts.end()) {
        acts.push_back({item.step.act, 1});
      } else {
        ++known->steps;
      }
    }
  return acts;
}

void Schedule::pop(std::optional<Instant> zero) noexcept {
  auto& items = scenario_first(zero) ? scenario_ : commands_;
  items.pop_front();
}

}  // namespace lw::impair
