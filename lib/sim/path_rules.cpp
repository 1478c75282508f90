// SPDX-License-Identifier: BSD-3-Clause
#include "sim/path_rules.h"

#include <algorithm>

namespace lw::sim {

using emulator::Action;
using emulator::Decision;
using emulator::RuleConfig;
using emulator::Stage;
using transport::Packet;

namespace {

bool takes_all(const RuleConfig& rule) noexcept {
  return rule.match == emulator::MatchConfig(emulator::Match::rocev2) ||
         rule.match == emulator::MatchConfig(emulator::Match::everything);
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
         rule.trace || rule.reorder;
}

}  // namespace

Duration PathRules::least_delay(emulator::Direction direction) const noexcept {
  Duration least = Duration::max();
  for (const RuleConfig& rule : rules) {
    if (!rule.applies(direction)) continue;
    const bool varies = rule.jitter || rule.trace;  // may be below the nominal delay
    least = std::min(least, varies ? Duration{} : rule.delay.value_or(Duration{}));
    if (takes_all(rule)) return least;
  }
  return Duration{};  // some go by untouched
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

RuledPath::RuledPath(const PathRules& rules, emulator::Direction direction, std::uint64_t seed)
    : pipeline_(direction, seed, rules.rules, rules.events) {
  held_.assign(pipeline_.rule_names().size(), emulator::Held<Entry>(0, Duration{}));
  for (std::size_t i = 0; i < pipeline_.rules().size(); ++i) {
    const auto reorder = pipeline_.configs()[i].reorder.value_or(emulator::ReorderConfig{});
    held_[pipeline_.rules()[i].index()] = emulator::Held<Entry>(reorder.frames, reorder.at_most);
  }
}

void RuledPath::enter(const Packet& packet, std::uint64_t number, Instant now) {
  out_.clear();
  const emulator::Arrival arrival = emulator::arrival_of(headers_.of(packet), number, now);
  const Decision decision = pipeline_.decide(arrival);
  settle(packet, decision, now);
  for (unsigned copy = 1; copy <= decision.copies; ++copy) {
    ++counters_.duplicated;
    Packet twin = packet;
    twin.icrc_wrong = packet.icrc_wrong || decision.corrupt;
    settle(twin, pipeline_.rule(decision.rule).decide_copy(arrival, decision, copy), now);
  }
}

void RuledPath::count_drop(Stage stage) noexcept {
  ++(stage == Stage::queue ? counters_.tail_dropped : counters_.lost);
}

void RuledPath::settle(Packet packet, const Decision& decision, Instant now) {
  if (decision.action == Action::drop) return count_drop(decision.stage);
  if (decision.corrupt) {
    ++counters_.corrupted;
    packet.icrc_wrong = true;
  }
  if (decision.mark) {
    ++counters_.marked;
    packet.congestion_experienced = true;
  }
  const Instant at = decision.action == Action::pass ? now : decision.release;
  if (decision.overtakes) return overtake(packet, decision, at);
  out_.push_back({packet, at});
}

/// Packets that waited for this one to overtake them leave right behind it.
void RuledPath::overtake(const Packet& packet, const Decision& decision, Instant at) {
  emulator::Held<Entry>& held = held_[decision.rule];
  held.gone_on();
  if (decision.action == Action::hold) {
    ++counters_.delayed;
    held.hold({.due = at, .packet = packet});
    ++held_packets_;
  } else {
    out_.push_back({packet, at});
  }
  for (; !held.empty() && held.overtaken(); held.pop(), --held_packets_)
    out_.push_back({held.front().packet, std::max(held.front().due, at)});
}

std::size_t RuledPath::first_held() const noexcept {
  std::size_t first = held_.size();
  for (std::size_t i = 0; i < held_.size(); ++i)
    if (!held_[i].empty() &&
        (first == held_.size() || held_[i].deadline() < held_[first].deadline()))
      first = i;
  return first;
}

Instant RuledPath::next_deadline() const noexcept {
  return held_packets_ == 0 ? Instant::max() : held_[first_held()].deadline();
}

Packet RuledPath::take_held() {
  emulator::Held<Entry>& held = held_[first_held()];
  const Packet packet = held.front().packet;
  held.pop();
  --held_packets_;
  return packet;
}

}  // namespace lw::sim
