// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/matching.h"

#include <algorithm>
#include <utility>

#include "dissect/matching/changed_frames.h"

namespace lw::dissect {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // orders at near and far

class Matcher {
 public:
  Matcher(Records near, Records far, const FlowNames& flows, Senders senders)
      : state_{.near = near, .far = far}, directions_(flows, senders) {
    state_.result.forgotten_flows =
        static_cast<std::uint64_t>(std::ranges::count(flows.forgotten(), true));
  }

  Matching run() {
    for (const CaptureRecord& r : state_.near) directions_.count(r, false);
    for (const CaptureRecord& r : state_.far) directions_.count(r, true);
    const std::vector<MatchKey> near = sorted_keys(state_.near), far = sorted_keys(state_.far);
    for_each_group(near, far, [&](MatchKeys a, MatchKeys b) { add_group(a, b); });
    sort_pairs();
    for (const auto& [at_near, at_far] : pairs_)
      directions_.vote(state_.near[at_near], state_.far[at_far]);
    vote(icrc_key);
    vote(place_key);
    vote(packet_key);
    directions_.decide(state_.near, state_.far, pairs_);
    state_.result.one_way = directions_.is_one_way();
    for (const auto& [at_near, at_far] : pairs_) add_pair(at_near, at_far);
    find_typical();
    for (const auto& [group_near, group_far] : several_) match_several(group_near, group_far);
    add_alone(alone_near_, false);
    add_alone(alone_far_, true);
    match_changed(state_, directions_);
    for (Match& m : state_.result.matches)
      m.changed = m.changed || is_damaged(state_.near[m.near], state_.far[m.far]);
    return std::move(state_.result);
  }

 private:
  void add_group(MatchKeys near, MatchKeys far) {
    const std::size_t both = std::min(near.size(), far.size());
    if (near.size() == 1 && far.size() == 1) {
      pairs_.emplace_back(near[0].order, far[0].order);
      return;
    }
    for (std::size_t k = 0; k < both; ++k)
      directions_.vote(state_.near[near[k].order], state_.far[far[k].order]);
    if (both > 0) {
      several_.emplace_back(near, far);
    } else {
      for (const MatchKey& key : near) alone_near_.push_back(key.order);
      for (const MatchKey& key : far) alone_far_.push_back(key.order);
    }
  }

  /// Sorts pairs_ by their order at the near point, so that what follows reads the records from the
  /// first to the last: 0.42 s for 512,000 frames, and 0.53 s in the order of their identities.
  void sort_pairs() {
    constexpr std::uint32_t kAlone = ~0U;
    std::vector<std::uint32_t> far_of(state_.near.size(), kAlone);
    for (const auto& [at_near, at_far] : pairs_) far_of[at_near] = at_far;
    pairs_.clear();
    for (std::uint32_t at_near = 0; at_near < far_of.size(); ++at_near)
      if (far_of[at_near] != kAlone) pairs_.emplace_back(at_near, far_of[at_near]);
  }

  void add_pair(std::uint32_t at_near, std::uint32_t at_far) {
    const CaptureRecord &near = state_.near[at_near], &far = state_.far[at_far];
    const bool goes_far = directions_.goes_far(near, far);
    state_.result.matches.push_back({at_near, at_far, goes_far, true, false});
    const std::int64_t delta = far_minus_near(near, far);
    state_.usual[goes_far ? 1 : 0].add(goes_far ? delta : -delta);
  }

  void match_several(MatchKeys near, MatchKeys far) {
    const bool goes_far =
        directions_.goes_far(state_.near[near[0].order], state_.far[far[0].order]);
    const MatchKeys sent = goes_far ? near : far, came = goes_far ? far : near;
    // If typical delays don't explain all frames that came, any delay that occurred may.
    EqualFrames typical(stamps_of(sent, state_.senders(goes_far)),
                        stamps_of(came, state_.receivers(goes_far)),
                        state_.typical[goes_far ? 1 : 0]);
    typical.match_usual();
    state_.match_alike(sent, came, goes_far, false,
                       (typical.late.empty() ? state_.typical : state_.usual)[goes_far ? 1 : 0]);
  }

  /// Finds the range of the delays without the longest twentieth; needs 20 delays.
  void find_typical() {
    std::vector<std::int64_t> delays[2];
    for (const Match& m : state_.result.matches) {
      const std::int64_t delta = far_minus_near(state_.near[m.near], state_.far[m.far]);
      delays[m.goes_far ? 1 : 0].push_back(m.goes_far ? delta : -delta);
    }
    for (const std::size_t way : {0U, 1U}) {
      state_.typical[way] = state_.usual[way];
      if (delays[way].size() < 20) continue;
      const auto at = delays[way].end() - static_cast<long>(delays[way].size() / 20) - 1;
      std::ranges::nth_element(delays[way], at);
      state_.typical[way].most = *at;
    }
  }

  /// Lets frames that were changed on the way vote for directions, too.
  void vote(MatchKeyOf key_of) {
    const std::vector<MatchKey> near = sorted_keys(state_.near, alone_near_, key_of),
                                far = sorted_keys(state_.far, alone_far_, key_of);
    for_each_group(near, far, [&](MatchKeys a, MatchKeys b) {
      for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k)
        directions_.vote(state_.near[a[k].order], state_.far[b[k].order]);
    });
  }

  /// Whether frames with one ICRC differ in the bytes that it covers.
  static bool is_damaged(const CaptureRecord& a, const CaptureRecord& b) {
    return a.bad_icrc != b.bad_icrc || a.rest != b.rest;
  }

  void add_alone(const std::vector<std::uint32_t>& orders, bool at_far) {
    for (const std::uint32_t order : orders) {
      const CaptureRecord& frame = (at_far ? state_.far : state_.near)[order];
      state_.result.unmatched.push_back(
          {order, at_far, directions_.goes_far(frame, at_far), false});
    }
  }

  MatchState state_;
  Directions directions_;
  Pairs pairs_;                                           // frames without an equal one
  std::vector<std::pair<MatchKeys, MatchKeys>> several_;  // equal frames, at both points
  std::vector<std::uint32_t> alone_near_, alone_far_;
};

}  // namespace

Matching match_frames(Records near, Records far, const FlowNames& flows, Senders senders) {
  return Matcher(near, far, flows, senders).run();
}

}  // namespace lw::dissect
