// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/timeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/impair/static_profile.h"
#include "config/limits.h"

namespace lw::config {
namespace {

bool of_path(const ScenarioStep& step) {
  return std::ranges::any_of(step.edits, [](const Edit& edit) { return edit.table.empty(); });
}

bool comes_before(const ScenarioStep& a, const ScenarioStep& b) { return a.at < b.at; }

}  // namespace

bool Timeline::apply(const ScenarioStep& step) {
  if (stop_.stop_requested()) return refuse(step, "its check was given up");
  if (step.edits.empty()) return true;
  for (const Edit& edit : step.edits)
    if (const auto applied = now_.apply(edit); !applied)
      return refuse(step, applied.error().message);
  Document next = now_.copy();
  auto profile = read_static_profile(next);
  if (!profile) return refuse(step, profile.error().message);
  if (of_path(step) && !profile->by_path) return refuse(step, std::string(kNoRuleUsesPath));
  longest_ = std::max(longest_, profile->longest_delay());
  last_ = std::move(*profile);
  return true;
}

std::vector<ScenarioStep> Timeline::steps(const Act& act, Duration start) {
  return steps_of(act, start, [this](const Edit& edit) { return present(edit); }, *document_);
}

Result<void> Timeline::verdict() const {
  if (!error_.empty()) return fail(error_);
  return document_->verdict();
}

/// Returns the current value of a key; "path" becomes a time if both directions have the same
/// delay.
std::optional<Value> Timeline::present(const Edit& edit) const {
  const Value* value = now_.find(edit);
  if (!value) return std::nullopt;
  if (edit.table != "rule" || edit.key != "delay" || text_of(*value) != "path") return *value;
  const auto& rules = profile().rules;
  const auto same = [&](const auto& rule) { return rule.name == edit.name; };
  if (std::ranges::count_if(rules, same) != 1) return *value;
  const auto delay = std::ranges::find_if(rules, same)->delay;
  return delay ? Value{value->at, fmt::format("{}ns", delay->count())} : *value;
}

bool Timeline::refuse(const ScenarioStep& step, const std::string& why) {
  // The error's own position is more precise than the act's.
  if (why.starts_with(document_->name() + ":")) {
    error_ = why;
  } else {
    document_->refuse(step.place, fmt::format("{}: {}", step.act, why));
  }
  return false;
}

Result<void> lay_out(ImpairProfile& profile, Document& document, const std::stop_token& stop) {
  std::vector<const Act*> timed;
  for (const Act& act : *profile.acts)
    if (act.time) timed.push_back(&act);
  std::ranges::stable_sort(timed, {}, [](const Act* act) { return *act->time; });
  Timeline timeline(document, profile, document, stop);
  std::vector<ScenarioStep>& steps = profile.scenario;
  std::size_t applied = 0;
  const auto apply_until = [&](Duration time) {
    for (; applied < steps.size() && steps[applied].at <= time; ++applied)
      if (!timeline.apply(steps[applied])) return false;
    return true;
  };
  for (const Act* act : timed) {
    if (!apply_until(*act->time)) return timeline.verdict();
    const auto more = timeline.steps(*act, *act->time);
    steps.insert(steps.end(), more.begin(), more.end());
    std::stable_sort(steps.begin() + static_cast<std::ptrdiff_t>(applied), steps.end(),
                     comes_before);
    if (steps.size() > kMostSteps) {
      document.refuse(act->place, fmt::format("{}: expected at most {} steps in total, found more",
                                              act->name, kMostSteps));
      break;
    }
  }
  if (document.verdict()) apply_until(Duration::max());
  profile.longest_later = std::max(profile.longest_later, timeline.longest());
  return timeline.verdict();
}

Result<void> try_commands(ImpairProfile& profile, Document& document, const std::stop_token& stop) {
  for (const Act& act : *profile.acts) {
    if (act.time) continue;
    Timeline timeline(document, profile, document, stop);
    for (const ScenarioStep& step : timeline.steps(act, {}))
      if (!timeline.apply(step)) break;
    profile.longest_later = std::max(profile.longest_later, timeline.longest());
    if (auto verdict = timeline.verdict(); !verdict) return verdict;
  }
  return {};
}

}  // namespace lw::config
