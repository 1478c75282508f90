// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/matching.h"

#include <algorithm>
#include <utility>

#include "dissect/matching/changed_frames.h"

namespace lw::dissect {
namespace {

class Matcher {
 public:
  Matcher(Records near, Records far, const FlowNames& flows, Senders senders)
      : state_{.near = near, .far = far, .flows = flows},
        directions_(flows, senders),
        far_of_(near.size(), Directions::kNoMatch) {
    state_.result.forgotten_flows =
        static_cast<std::uint64_t>(std::ranges::count(flows.forgotten(), true));
  }

  Matching run() {
    for (const CaptureRecord& r : state_.near.all()) directions_.count(r, false);
    for (const CaptureRecord& r : state_.far.all()) directions_.count(r, true);
    match_identities();
    for (std::uint32_t at_near = 0; at_near < far_of_.size(); ++at_near)
      if (far_of_[at_near] != Directions::kNoMatch)
        directions_.vote(state_.near[at_near], state_.far[far_of_[at_near]]);
    vote(icrc_key);
    vote(place_key);
    vote(packet_key);
    directions_.decide(state_.near, state_.far, far_of_);
    state_.result.one_way = directions_.is_one_way();
    add_pairs();
    find_typical();
    match_several();
    add_alone(alone_near_, false);
    add_alone(alone_far_, true);
    match_changed(state_, directions_);
    std::ranges::sort(state_.result.matches, {}, &Match::near);
    for (Match& m : state_.result.matches)
      m.changed = m.changed || is_damaged(state_.near[m.near], state_.far[m.far]);
    return std::move(state_.result);
  }

 private:
  /// Finds the frames of each identity, a part of the identities at a time.
  void match_identities() {
    constexpr std::size_t kFew = 1 << 16;
    const std::uint64_t parts = state_.near.size() + state_.far.size() < kFew ? 1 : 8;
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::vector<MatchKey> near = sorted_identities(state_.near, part, parts),
                                  far = sorted_identities(state_.far, part, parts);
      for_each_group(near, far, [&](MatchKeys a, MatchKeys b) { add_group(a, b); });
    }
  }

  void add_group(MatchKeys near, MatchKeys far) {
    const std::size_t both = std::min(near.size(), far.size());
    if (near.size() == 1 && far.size() == 1) {
      far_of_[near[0].order] = far[0].order;
      return;
    }
    for (std::size_t k = 0; k < both; ++k)
      directions_.vote(state_.near[near[k].order], state_.far[far[k].order]);
    if (both > 0)
      groups_.push_back({static_cast<std::uint32_t>(near.size()),  //
                         static_cast<std::uint32_t>(far.size())});
    for (const MatchKey& key : near) (both > 0 ? several_ : alone_near_).push_back(key.order);
    for (const MatchKey& key : far) (both > 0 ? several_ : alone_far_).push_back(key.order);
  }

  /// Adds the frames without an equal one by their order at the near point, so that what follows
  /// reads the records from the first to the last: 0.42 s for 512,000 frames, and 0.53 s in the
  /// order of their identities.
  void add_pairs() {
    state_.result.matches.reserve(std::min(state_.near.size(), state_.far.size()));
    for (std::uint32_t at_near = 0; at_near < far_of_.size(); ++at_near)
      if (far_of_[at_near] != Directions::kNoMatch) add_pair(at_near, far_of_[at_near]);
    far_of_ = std::vector<std::uint32_t>();  // frees its memory
  }

  void add_pair(std::uint32_t at_near, std::uint32_t at_far) {
    const CaptureRecord near = state_.near[at_near], far = state_.far[at_far];
    const bool goes_far = directions_.goes_far(near, far);
    state_.result.matches.push_back(match_of(at_near, at_far, goes_far, true, false));
    const std::int64_t delta = far_minus_near(near, far);
    state_.usual[goes_far ? 1 : 0].add(goes_far ? delta : -delta);
  }

  void match_several() {
    std::span<const std::uint32_t> rest = several_;
    const auto next_keys = [&](std::size_t count) {
      std::vector<MatchKey> keys;
      for (const std::uint32_t order : rest.first(count)) keys.push_back({0, order});
      rest = rest.subspan(count);
      return keys;
    };
    for (const Group& group : groups_) {
      const std::vector<MatchKey> near = next_keys(group.near), far = next_keys(group.far);
      match_several(near, far);
    }
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

  /// Finds the range of the delays without the longest twentieth, of at most kSample of them; needs
  /// 20 delays.
  void find_typical() {
    constexpr std::size_t kSample = 1 << 17;
    for (const std::size_t way : {0U, 1U}) {
      state_.typical[way] = state_.usual[way];
      std::vector<std::int64_t> delays;
      const std::size_t stride = state_.result.matches.size() / kSample + 1;
      for (std::size_t i = 0; i < state_.result.matches.size(); i += stride) {
        const Match& m = state_.result.matches[i];
        if (m.goes_far != way) continue;
        const std::int64_t delta =
            stamp_difference(state_.far.stamp_ns(m.far), state_.near.stamp_ns(m.near));
        delays.push_back(m.goes_far ? delta : -delta);
      }
      if (delays.size() < 20) continue;
      const auto at = delays.end() - static_cast<long>(delays.size() / 20) - 1;
      std::ranges::nth_element(delays, at);
      state_.typical[way].most = *at;
    }
  }

  /// Lets frames that were changed on the way vote for directions, too.
  void vote(MatchKeyOf key_of) {
    const std::vector<MatchKey> near = sorted_keys(state_.near, alone_near_, key_of, state_.flows),
                                far = sorted_keys(state_.far, alone_far_, key_of, state_.flows);
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
      const CaptureRecord frame = (at_far ? state_.far : state_.near)[order];
      state_.result.unmatched.push_back(
          {order, at_far, directions_.goes_far(frame, at_far), false});
    }
  }

  MatchState state_;
  Directions directions_;
  std::vector<std::uint32_t> far_of_;  // by order at near, of frames without an equal one
  struct Group {
    std::uint32_t near, far;  // how many equal frames
  };
  std::vector<Group> groups_;           // of equal frames, at both points
  std::vector<std::uint32_t> several_;  // their orders, group by group: at near, then at far
  std::vector<std::uint32_t> alone_near_, alone_far_;
};

}  // namespace

Matching match_frames(Records near, Records far, const FlowNames& flows, Senders senders) {
  return Matcher(near, far, flows, senders).run();
}

}  // namespace lw::dissect
