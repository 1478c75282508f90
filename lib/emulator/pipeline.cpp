// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/pipeline.h"

#include <algorithm>

namespace lw::emulator {

namespace {

std::vector<RuleConfig> those_for(Direction direction, std::span<const RuleConfig> rules) {
  std::vector<RuleConfig> result;
  std::ranges::copy_if(rules, std::back_inserter(result),
                       [&](const RuleConfig& rule) { return rule.applies(direction); });
  return result;
}

RuleConfig untouched_config() {
  RuleConfig config;
  config.name = "untouched";
  return config;
}

std::vector<MatchConfig> matches_of(std::span<const RuleConfig> rules) {
  std::vector<MatchConfig> matches;
  for (const RuleConfig& rule : rules) matches.push_back(rule.match);
  return matches;
}

/// The classifier of frames as they are on the wire; rules for packets within tunnels match none.
Classifier classifier_of(std::span<const RuleConfig> rules) {
  std::vector<MatchConfig> matches = matches_of(rules);
  for (MatchConfig& match : matches)
    if (match.tunnel) match.opcodes.emplace();
  return Classifier(matches);
}

}  // namespace

Pipeline::Pipeline(Direction direction, std::uint64_t seed, std::span<const RuleConfig> rules,
                   std::span<const EventConfig> events, std::span<const std::string> known)
    : direction_(direction),
      configs_(std::make_shared<const std::vector<RuleConfig>>(those_for(direction, rules))),
      untouched_(untouched_config(), {seed, direction}, kUntouched),
      classifier_(classifier_of(*configs_)),
      tunnels_(matches_of(*configs_)),
      event_configs_(events.begin(), events.end()),
      events_(direction, events),
      names_(known.begin(), known.end()),
      places_(known.size(), kNowhere) {
  Indexes indexes;
  for (std::size_t i = 0; i < names_.size(); ++i)
    indexes.emplace(names_[i], static_cast<RuleIndex>(i));
  rules_.reserve(configs().size());
  for (std::size_t i = 0; i < configs().size(); ++i) {
    const RuleConfig& rule = configs()[i];
    const RuleIndex index = index_of(rule.name, indexes);
    places_[index] = i;
    rules_.emplace_back(rule,
                        StageSetup{seed, direction, rule.delays() ? lines_for(rule) : RuleFifos{},
                                   index, queue_of(rule)},
                        index);
    edits_ |= rule.edits();
    if (rule.asks_for_pauses() && !asked_beside(i)) asking_.push_back(i);
    if (!rule.hears_pauses()) continue;
    listening_.push_back(i);
    rules_.back().queue()->obeys_pauses = true;
  }
  const Direction other = opposite(direction);
  for (const RuleConfig& rule : rules)
    if (rule.applies(other) && rule.hears_pauses())
      obeyed_pauses_ |= wire::priority_bit(rule.pauses()->priority);
  for (const EventConfig& event : events) {
    if (!event.applies(direction)) continue;
    edits_ |= event.action == EventAction::mark || event.action == EventAction::corrupt;
    uses_wheel_ |= event.action == EventAction::delay;
  }
}

RuleIndex Pipeline::index_of(const std::string& name, Indexes& indexes) {
  const auto [found, is_new] = indexes.emplace(name, static_cast<RuleIndex>(names_.size()));
  if (is_new) {
    names_.push_back(name);
    places_.push_back(kNowhere);
  }
  return found->second;
}

const RuleConfig* Pipeline::config_of(RuleIndex index) const noexcept {
  if (index >= places_.size() || places_[index] == kNowhere) return nullptr;
  return &configs()[places_[index]];
}

/// Returns the rule's queue, made if it is the first of its rules; null if it has none.
std::shared_ptr<RulesQueue> Pipeline::queue_of(const RuleConfig& rule) {
  if (!Queue::present(rule)) return nullptr;
  const QueueUse use = Queue::use_of(rule);
  const auto [found, is_new] = queue_places_.emplace(use.owner, queues_.size());
  if (is_new) queues_.push_back(std::make_shared<RulesQueue>(use.owner, use.queue));
  return queues_[found->second];
}

/// True if a rule before that of place `place` has the same class of the same queue, whose pauses
/// it asks for.
bool Pipeline::asked_beside(std::size_t place) const noexcept {
  const auto& use = configs()[place].shared;
  return use && std::ranges::any_of(asking_, [&](std::size_t other) {
           const auto& theirs = configs()[other].shared;
           return theirs && theirs->owner == use->owner && theirs->cls == use->cls;
         });
}

void Pipeline::inherit(Pipeline& old, Instant now) noexcept {
  hits_ = old.hits_;
  // Keep counting occurrences. If events changed, find the new events of the QPs that were learnt.
  const auto& olds = old.event_configs_;
  if (event_configs_ == olds) {
    std::swap(events_, old.events_);
  } else {
    const bool continues = olds.size() <= event_configs_.size() &&
                           std::equal(olds.begin(), olds.end(), event_configs_.begin());
    events_.inherit(old.events_, continues);
  }
  for (const auto& queue : queues_) {
    const auto found = old.queue_places_.find(queue->owner);
    if (found != old.queue_places_.end()) queue->take_over(*old.queues_[found->second], now);
  }
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const RuleIndex index = rules_[i].index();
    const std::size_t place = index < old.places_.size() ? old.places_[index] : kNowhere;
    if (place == kNowhere) continue;
    rules_[i].inherit(old.rules_[place], configs()[i], old.configs()[place], now);
  }
}

bool Pipeline::pausing_beside(std::size_t place) const noexcept {
  return std::ranges::any_of(asking_, [&](std::size_t other) {
    const Queue& queue = rules_[other].queue_stage();
    return other != place && queue.priority() == rules_[place].queue_stage().priority() &&
           queue.pausing();
  });
}

RuleFifos Pipeline::lines_for(const RuleConfig& rule) {
  RuleFifos lines;
  const bool any_order = rule.varies() && !rule.keep_order;
  if (any_order) {
    uses_wheel_ = true;
    return {kWheel, kWheel};
  }
  lines.usual = rule.varies() ? own_line() : shared_line(rule.delay.value_or(Duration{}));
  // Frames that are held back by a constant time keep their order among themselves.
  if (rule.reorder && rule.reorder->by.count() > 0) lines.late = own_line();
  return lines;
}

/// Rules of the same delay share a FIFO: their frames leave in order of arrival.
FifoIndex Pipeline::shared_line(Duration delay) {
  const auto found = std::ranges::find(lines_, delay);
  if (found != lines_.end()) return static_cast<FifoIndex>(found - lines_.begin());
  const FifoIndex line = own_line();
  if (line != kWheel) lines_[line] = delay;
  return line;
}

FifoIndex Pipeline::own_line() {
  if (lines_.size() >= kMostFifos) {
    uses_wheel_ = true;
    return kWheel;
  }
  lines_.emplace_back();
  return static_cast<FifoIndex>(lines_.size() - 1);
}

}  // namespace lw::emulator
