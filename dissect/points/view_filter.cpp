// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/view_filter.h"

#include <algorithm>

namespace lw::dissect {
namespace {

/// Views of later frames may be further apart than those of the first: a queue may grow.
Duration allowed(Duration seen) noexcept {
  constexpr Duration kLeast = std::chrono::microseconds{20};
  return std::clamp(4 * seen, kLeast, TapFrames::kMostApart);
}

}  // namespace

void ViewFilter::add(std::uint32_t point, const RepeatedViews& views) {
  repeated_[{point, views.addresses}] = {views.views, allowed(views.apart)};
}

bool ViewFilter::is_further_view(std::uint32_t point, const roce::Frame& frame, Instant stamp) {
  const roce::FlowKey flow = roce::flow_key(frame);
  const auto expected = repeated_.find({point, flow.destination < flow.source
                                                   ? AddressPair{flow.destination, flow.source}
                                                   : AddressPair{flow.source, flow.destination}});
  if (expected == repeated_.end()) return false;
  const auto identity = view_identity_of(frame);
  if (!identity) return false;
  const std::uint64_t key = *identity ^ (std::uint64_t{point} << 40);
  const auto known = waiting_.find(key);
  const bool comes_again = known != waiting_.end() &&
                           stamp_difference(stamp, known->second.first) <= expected->second.apart;
  if (!comes_again) {
    wait(key, stamp, expected->second.views - 1);
    return false;
  }
  if (--known->second.left == 0) waiting_.erase(known);
  ++further_views_;
  return true;
}

void ViewFilter::wait(std::uint64_t key, Instant stamp, std::uint32_t left) {
  waiting_[key] = {stamp, left, ++turn_};
  turns_.emplace_back(key, turn_);
  while (turns_.size() > kMostWaiting) {
    const auto [oldest, turn] = turns_.front();
    turns_.pop_front();
    const auto at = waiting_.find(oldest);
    if (at != waiting_.end() && at->second.turn == turn) waiting_.erase(at);
  }
}

}  // namespace lw::dissect
