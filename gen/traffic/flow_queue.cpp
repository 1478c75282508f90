// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/flow_queue.h"

namespace lw::gen {
namespace {

constexpr std::size_t kFewestSlots = 1024;
constexpr Duration kLongestReach = std::chrono::hours(1);

int shift_for(Duration slot) {
  const auto ns = static_cast<std::uint64_t>(std::clamp(slot.count(), 1L, 1L << 40));
  return static_cast<int>(std::bit_width(ns)) - 1;
}

/// Eight times the gap between two frames of a flow, if all flows have the same rate.
Duration reach_of(std::size_t flows, Duration slot) {
  const Duration most = kLongestReach / static_cast<std::int64_t>(flows + 1);
  return std::clamp(slot, Duration{1}, most) * static_cast<std::int64_t>(flows + 1);
}

}  // namespace

FlowWheel::FlowWheel(std::size_t flows, Duration slot)
    : shift_(shift_for(slot)),
      slots_(std::bit_ceil(std::max(kFewestSlots, flows)), kNone),
      occupied_(slots_.size() / kWord),
      links_(flows) {
  current_.reserve(flows);
}

void FlowWheel::insert(const DueFlow& due) noexcept {
  if (count_++ == 0) now_ = slot_of(due.at) - 1;
  add(due);
  open_if_done();
}

bool FlowWheel::remove_first() noexcept {
  current_.pop_back();
  --count_;
  return open_if_done();
}

/// Searches from the end, because an entry that returns to the current slot is due soon.
void FlowWheel::insert_sorted(const DueFlow& due) noexcept {
  auto position = current_.end();
  while (position != current_.begin() && *(position - 1) < due) --position;
  current_.insert(position, due);
}

void FlowWheel::open_next() noexcept {
  const std::int64_t near = next_slot();
  now_ = std::min(near, far_slot());
  if (now_ == near) {
    const std::size_t index = index_of(near);
    for (std::uint32_t flow = slots_[index]; flow != kNone; flow = links_[flow].flow) {
      current_.push_back({links_[flow].at, flow});
    }
    slots_[index] = kNone;
    occupied_[index / kWord] &= ~(std::uint64_t{1} << index % kWord);
  }
  for (; far_slot() == now_; far_.pop()) current_.push_back(far_.top());
  // Flows with even pacing were added in order of time, so they are in order already.
  if (!std::ranges::is_sorted(current_, std::greater<>())) {
    std::ranges::sort(current_, std::greater<>());
  }
}

FlowQueue::FlowQueue(std::size_t flows, Duration slot, std::vector<DueFlow> entries)
    : reach_(reach_of(flows, slot)), ring_(flows), wheel_(flows, slot) {
  std::ranges::sort(entries);
  for (const DueFlow& due : entries) insert(due, entries.front().at);
  choose();
}

void FlowQueue::insert(const DueFlow& due, Duration before) noexcept {
  fits_ring(due, before) ? ring_.push(due) : wheel_.insert(due);
}

bool FlowQueue::reschedule_first(Duration at) noexcept {
  const DueFlow before = first();
  const DueFlow due{at, before.flow};
  bool opened = false;
  if (!in_ring_ && !fits_ring(due, before.at)) {
    opened = wheel_.reschedule_first(at);
  } else {
    opened = pop_first();
    insert(due, before.at);
  }
  choose();
  return opened;
}

bool FlowQueue::remove_first() noexcept {
  const bool opened = pop_first();
  choose();
  return opened;
}

void FlowQueue::reschedule(std::span<const Duration> next) noexcept {
  ring_.reschedule(next, reach_, [this](const DueFlow& due) {
    if (due.at != kNever) wheel_.insert(due);
  });
  choose();
}

}  // namespace lw::gen
