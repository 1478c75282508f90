// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/flow_wheel.h"

#include <algorithm>
#include <bit>

namespace lw::gen {
namespace {

constexpr std::size_t kFewestSlots = 1024;

int shift_for(Duration slot) {
  const auto ns = static_cast<std::uint64_t>(std::clamp(slot.count(), 1L, 1L << 40));
  return static_cast<int>(std::bit_width(ns)) - 1;
}

}  // namespace

FlowWheel::FlowWheel(std::size_t flows, Duration slot)
    : shift_(shift_for(slot)),
      slots_(std::bit_ceil(std::max(kFewestSlots, flows)), kNone),
      occupied_(slots_.size() / kWord),
      links_(flows) {
  under_way_.reserve(flows);
}

void FlowWheel::insert(const DueFlow& turn) noexcept {
  if (count_++ == 0) now_ = slot_of(turn.at) - 1;
  place(turn);
  open_if_through();
}

bool FlowWheel::remove_first() noexcept {
  under_way_.pop_back();
  --count_;
  return open_if_through();
}

/// From the end: what is put back into the slot under way comes soon.
void FlowWheel::insert_sorted(const DueFlow& turn) noexcept {
  auto place = under_way_.end();
  while (place != under_way_.begin() && *(place - 1) < turn) --place;
  under_way_.insert(place, turn);
}

void FlowWheel::open_next() noexcept {
  const std::int64_t near = next_slot();
  now_ = std::min(near, far_slot());
  if (now_ == near) {
    const std::size_t index = index_of(near);
    for (std::uint32_t flow = slots_[index]; flow != kNone; flow = links_[flow].next) {
      under_way_.push_back({links_[flow].at, flow});
    }
    slots_[index] = kNone;
    occupied_[index / kWord] &= ~(std::uint64_t{1} << index % kWord);
  }
  for (; far_slot() == now_; far_.pop()) under_way_.push_back(far_.top());
  // What was put in by time, as even flows are, comes out of the list as it must be.
  if (!std::ranges::is_sorted(under_way_, std::greater<>())) {
    std::ranges::sort(under_way_, std::greater<>());
  }
}

}  // namespace lw::gen
