// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/shared_queues.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace lw::config {
namespace {

using emulator::QueueUse;
using emulator::RuleConfig;

/// Completes the queue of the rule that describes it.
void complete(RuleConfig& owner) {
  QueueUse& use = owner.shared ? *owner.shared : owner.shared.emplace();
  const emulator::QueueConfig& link = *owner.queue;
  use.owner = owner.name;
  use.queue.rate_bps = static_cast<std::uint64_t>(std::llround(link.rate_bps));
  use.queue.buffer_bytes = link.buffer_bytes;
  use.queue.cost = link.cost();
  if (use.queue.classes.empty()) {
    use.queue.classes.emplace_back();
    use.pauses.push_back(link.pfc);
  }
  owner.queue.reset();
}

void check_use(const Table& table, const RuleConfig& rule) {
  const QueueUse& use = *rule.shared;
  if (use.cls >= use.queue.classes.size())
    table.refuse("queue", fmt::format("expected a class from 0 to {} of the queue of rule {}, "
                                      "found {}",
                                      use.queue.classes.size() - 1, use.owner, use.cls));
  const auto has_rate = [](const emulator::TraceRow& row) { return row.rate_bps.has_value(); };
  if (rule.trace && std::ranges::any_of(rule.trace->rows, has_rate))
    table.refuse("trace", "expected no rates beside a queue that is shared or has classes");
}

}  // namespace

void share_queues(std::span<const Table> tables, std::span<RuleConfig* const> rules) {
  std::map<std::string_view, RuleConfig*> owners;
  for (RuleConfig* rule : rules)
    if (rule->queue) owners.emplace(rule->name, rule);
  const auto owner_of = [&](const RuleConfig& rule) -> RuleConfig* {
    const auto found = owners.find(rule.shared->owner);
    return found == owners.end() ? nullptr : found->second;
  };
  std::vector<std::pair<std::size_t, RuleConfig*>> uses;  // a rule, and the owner of its queue
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (!rules[i]->shared || rules[i]->queue) continue;
    if (RuleConfig* const owner = owner_of(*rules[i])) {
      uses.emplace_back(i, owner);
    } else {
      tables[i].refuse("queue", fmt::format("expected the name of a rule with a queue of its own "
                                            "at shared, found \"{}\"",
                                            rules[i]->shared->owner));
      rules[i]->shared.reset();
    }
  }
  for (const auto& [rule, owner] : uses)
    if (owner->queue) complete(*owner);
  for (RuleConfig* rule : rules)
    if (rule->queue && rule->shared) complete(*rule);
  for (const auto& [rule, owner] : uses) {
    const std::uint32_t cls = rules[rule]->shared->cls;
    rules[rule]->shared = owner->shared;
    rules[rule]->shared->cls = cls;
  }
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (rules[i]->shared) check_use(tables[i], *rules[i]);
}

}  // namespace lw::config
