// SPDX-License-Identifier: BSD-3-Clause
#include "gen/turn_wheel.h"

#include <algorithm>
#include <bit>

namespace lw::gen {
namespace {

constexpr std::size_t kFewestSlots = 1024;
constexpr std::size_t kWord = 64;

int shift_for(Duration slot) {
  const auto ns = static_cast<std::uint64_t>(std::clamp(slot.count(), 1L, 1L << 40));
  return static_cast<int>(std::bit_width(ns)) - 1;
}

}  // namespace

TurnWheel::TurnWheel(std::size_t flows, Duration slot, const std::vector<Turn>& turns)
    : shift_(shift_for(slot)),
      count_(turns.size()),
      slots_(std::bit_ceil(std::max(kFewestSlots, flows)), kNone),
      occupied_(slots_.size() / kWord),
      links_(flows) {
  under_way_.reserve(flows);
  for (const Turn& turn : turns) insert(turn);
  open_if_through();
}

Duration TurnWheel::others_from() const noexcept {
  if (count_ == 1) return Duration::max();
  if (under_way_.size() > 1) return under_way_[under_way_.size() - 2].at;
  return Duration{std::min(next_slot(), far_slot()) << shift_};
}

bool TurnWheel::put_back(Duration at) noexcept {
  const std::uint32_t flow = first().flow;
  if (count_ == 1) {
    under_way_.back().at = at;
    now_ = slot_of(at);
    return false;
  }
  under_way_.pop_back();
  insert({at, flow});
  return open_if_through();
}

bool TurnWheel::remove_first() noexcept {
  under_way_.pop_back();
  --count_;
  return open_if_through();
}

void TurnWheel::insert(const Turn& turn) noexcept {
  const std::int64_t slot = slot_of(turn.at);
  if (slot <= now_) return insert_sorted(turn);
  if (slot - now_ >= static_cast<std::int64_t>(slots_.size())) return far_.push(turn);
  const std::size_t index = index_of(slot);
  links_[turn.flow] = {turn.at, slots_[index]};
  slots_[index] = turn.flow;
  occupied_[index / kWord] |= std::uint64_t{1} << index % kWord;
}

/// From the end: what is put back into the slot under way comes soon.
void TurnWheel::insert_sorted(const Turn& turn) noexcept {
  auto place = under_way_.end();
  while (place != under_way_.begin() && *(place - 1) < turn) --place;
  under_way_.insert(place, turn);
}

std::int64_t TurnWheel::next_slot() const noexcept {
  const std::size_t from = index_of(now_ + 1);
  const std::size_t words = occupied_.size();
  std::uint64_t word = occupied_[from / kWord] & ~std::uint64_t{0} << from % kWord;
  // Round to the first word again, for the bits that were masked.
  for (std::size_t i = 0; i <= words; ++i) {
    const std::size_t at = (from / kWord + i) & (words - 1);
    if (i > 0) word = occupied_[at];
    if (word == 0) continue;
    const std::size_t index = at * kWord + static_cast<std::size_t>(std::countr_zero(word));
    return now_ + 1 + static_cast<std::int64_t>((index - from) & (slots_.size() - 1));
  }
  return kNever;
}

/// Goes on to the next slot that has turns once that under way has none.
bool TurnWheel::open_if_through() noexcept {
  if (!under_way_.empty() || count_ == 0) return false;
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
  return true;
}

}  // namespace lw::gen
