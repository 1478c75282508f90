// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/flow_queue.h"

#include <algorithm>

namespace lw::gen {
namespace {

constexpr Duration kLongestReach = std::chrono::hours(1);

/// Eight times what flows of one rate have between their turns.
Duration reach_of(std::size_t flows, Duration slot) {
  const Duration most = kLongestReach / static_cast<std::int64_t>(flows + 1);
  return std::clamp(slot, Duration{1}, most) * static_cast<std::int64_t>(flows + 1);
}

}  // namespace

FlowQueue::FlowQueue(std::size_t flows, Duration slot, std::vector<DueFlow> turns)
    : reach_(reach_of(flows, slot)), belt_(flows), wheel_(flows, slot) {
  std::ranges::sort(turns);
  for (const DueFlow& turn : turns) insert(turn, turns.front().at);
  choose();
}

void FlowQueue::insert(const DueFlow& turn, Duration before) noexcept {
  goes_on_belt(turn, before) ? belt_.put_on(turn) : wheel_.insert(turn);
}

bool FlowQueue::put_back(Duration at) noexcept {
  const DueFlow before = first();
  const DueFlow turn{at, before.flow};
  bool opened = false;
  if (!on_belt_ && !goes_on_belt(turn, before.at)) {
    opened = wheel_.put_back(at);
  } else {
    opened = take_first();
    insert(turn, before.at);
  }
  choose();
  return opened;
}

bool FlowQueue::remove_first() noexcept {
  const bool opened = take_first();
  choose();
  return opened;
}

void FlowQueue::take_round(std::span<const Duration> next) noexcept {
  belt_.take_round(next, reach_, [this](const DueFlow& turn) {
    if (turn.at != kNever) wheel_.insert(turn);
  });
  choose();
}

}  // namespace lw::gen
