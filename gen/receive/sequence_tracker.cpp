// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/sequence_tracker.h"

#include <algorithm>

namespace lw::gen {

using Kind = Arrival::Kind;

Arrival SequenceTracker::take_irregular(std::uint64_t number) {
  if (!past_) remember();
  if (number < next_) return take_behind(number);
  const std::uint64_t missing = number - next_;
  if (missing > 0) {
    mark(next_, number, false);
    past_->gaps.push_back({next_, number - 1, arrivals_});
  }
  mark(number, true);
  next_ = number + 1;
  ++arrivals_;
  while (!past_->gaps.empty() && next_ - past_->gaps.front().last > kWindow) {
    past_->gaps.pop_front();
  }
  return {missing > 0 ? Kind::ahead : Kind::in_order, missing, 0};
}

Arrival SequenceTracker::take_behind(std::uint64_t number) {
  if (next_ - number > kWindow) return {Kind::beyond_window, 0, 0};
  if (number < floor_) return take_below_floor(number);
  if (was_seen(number)) return {Kind::duplicate, 0, 0};
  mark(number, true);
  return {Kind::late, 0, arrivals_++ - passed_by(number)};
}

Arrival SequenceTracker::take_below_floor(std::uint64_t number) {
  if (!joined_) return {Kind::beyond_window, 0, 0};
  const std::uint64_t missing = floor_ - number;  // with this one, which the caller subtracts
  mark(number, floor_, false);
  mark(number, true);
  if (missing > 1) past_->gaps.push_front({number + 1, floor_ - 1, 0});
  floor_ = number;
  return {Kind::late, missing, arrivals_++};  // the first arrival skipped it
}

void SequenceTracker::pass(std::uint64_t next) {
  if (next <= next_) return;
  if (past_) mark(next_, next, true);
  next_ = next;
}

/// Until now all numbers from the floor on arrived in order.
void SequenceTracker::remember() {
  past_ = std::make_unique<Past>();
  mark(floor_, next_, true);
}

void SequenceTracker::mark(std::uint64_t number, bool seen) noexcept {
  std::uint64_t& word = past_->seen[number % kWindow / 64];
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  word = seen ? word | bit : word & ~bit;
}

void SequenceTracker::mark(std::uint64_t first, std::uint64_t end, bool seen) noexcept {
  if (end - first >= kWindow) {
    std::ranges::fill(past_->seen, seen ? ~std::uint64_t{0} : 0);
    return;
  }
  for (; first < end; ++first) mark(first, seen);
}

bool SequenceTracker::was_seen(std::uint64_t number) const noexcept {
  return past_->seen[number % kWindow / 64] >> number % 64 & 1;
}

/// Index of the arrival that skipped `number`, which is missing.
std::uint64_t SequenceTracker::passed_by(std::uint64_t number) const noexcept {
  const auto gap = std::ranges::lower_bound(past_->gaps, number, {}, &Gap::last);
  return gap == past_->gaps.end() ? 0 : gap->passed_by;
}

}  // namespace lw::gen
