// SPDX-License-Identifier: BSD-3-Clause
#include "perf/path.h"

#include <algorithm>

namespace lw::perf {

using emulator::RuleConfig;

namespace {

bool takes_all(const RuleConfig& rule) noexcept {
  return rule.match == emulator::MatchConfig(emulator::MatchedFrames::rocev2) ||
         rule.match == emulator::MatchConfig(emulator::MatchedFrames::everything);
}

bool only_delays(const RuleConfig& rule) {
  RuleConfig plain;
  plain.name = rule.name;
  plain.match = rule.match;
  plain.west_to_east = rule.west_to_east;
  plain.east_to_west = rule.east_to_west;
  plain.delay = rule.delay;
  plain.keep_order = rule.keep_order;
  return rule == plain;
}

bool draws(const RuleConfig& rule) noexcept {
  return emulator::loses(rule.loss) || rule.corrupt || rule.duplicate || rule.mark || rule.jitter ||
         rule.trace || rule.reorder || (rule.slot && rule.slot->least < rule.slot->most);
}

/// Probability that at least one of two independent events happens.
double either(double a, double b) noexcept { return 1 - (1 - a) * (1 - b); }

}  // namespace

Duration PathRules::least_delay(emulator::Direction direction) const noexcept {
  Duration least = Duration::max();
  for (const RuleConfig& rule : rules) {
    if (!rule.applies(direction)) continue;
    const bool varies = rule.jitter || rule.trace;  // may be below the nominal delay
    least = std::min(least, varies ? Duration{} : rule.delay.value_or(Duration{}));
    if (takes_all(rule)) return least;
  }
  return Duration{};  // some packets pass untouched
}

bool PathRules::by_chance() const noexcept { return std::ranges::any_of(rules, draws); }

bool PathRules::plain() const noexcept {
  const auto first_of = [&](emulator::Direction direction) {
    return std::ranges::find_if(rules, [&](const RuleConfig& r) { return r.applies(direction); });
  };
  for (const auto direction :
       {emulator::Direction::west_to_east, emulator::Direction::east_to_west}) {
    const auto rule = first_of(direction);
    if (rule == rules.end() || !takes_all(*rule) || !only_delays(*rule) || !rule->delay)
      return false;
  }
  return events.empty();
}

void PathRules::add_faults(double loss, double marking) {
  RuleConfig& other = rules.emplace_back();
  other.name = "other";
  other.match = emulator::MatchedFrames::rocev2;
  for (RuleConfig& rule : rules) {
    if (double* own = std::get_if<double>(&rule.loss)) *own = either(*own, loss);
    if (marking == 0) continue;
    if (!rule.mark) rule.mark.emplace();
    rule.mark->probability = either(rule.mark->probability, marking);
  }
}

}  // namespace lw::perf
