// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/compare/matching.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

#include "capture/record.h"

namespace lw::dissect {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // orders at near and far

struct Key {
  Identity identity;
  std::uint32_t order;
};
using Keys = std::span<const Key>;

std::vector<Key> sorted_keys(Records records) {
  std::vector<Key> keys;
  keys.reserve(records.size());
  for (const CaptureRecord& r : records) keys.push_back({r.identity, r.order});
  std::ranges::sort(keys, {}, [](const Key& k) { return std::tuple(k.identity, k.order); });
  return keys;
}

/// Cuts the keys of `identity` off the front.
Keys split(Keys& rest, const Identity& identity) {
  std::size_t count = 0;
  while (count < rest.size() && rest[count].identity == identity) ++count;
  const Keys group = rest.first(count);
  rest = rest.subspan(count);
  return group;
}

/// The delays that occur: of frames without an equal one.
struct DelayRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::int64_t most = std::numeric_limits<std::int64_t>::min();

  void add(std::int64_t delay) {
    least = std::min(least, delay);
    most = std::max(most, delay);
  }
  [[nodiscard]] bool known() const { return least <= most; }
  [[nodiscard]] bool has(std::int64_t delay) const { return least <= delay && delay <= most; }
};

/// Matches equal frames of one direction: `sent` and `came` are in order.
class EqualFrames {
 public:
  EqualFrames(std::vector<std::int64_t> sent, std::vector<std::int64_t> came, DelayRange usual)
      : sent_(std::move(sent)), came_(std::move(came)), usual_(usual) {}

  void run() {
    if (usual_.known()) {
      match_usual();
    } else {
      for (std::uint32_t i = 0; i < sent_.size(); ++i) lost.push_back(i);
      for (std::uint32_t i = 0; i < came_.size(); ++i) late_.push_back(i);
    }
    match_rest();
  }

  // Indices of sent and came, after run():
  std::vector<std::pair<std::uint32_t, std::uint32_t>> matched;
  std::vector<std::uint32_t> lost, copies;

  /// Where some were lost or copied, an equal frame near in time could be the match instead, unless
  /// it has the same stamp.
  [[nodiscard]] bool is_certain(std::uint32_t sent, std::uint32_t came) const {
    if (lost.empty() && copies.empty()) return true;
    if (!usual_.known()) return false;
    const std::int64_t own = delay(sent, came);
    const auto possible = [&](std::uint32_t s, std::uint32_t c) {
      return s < sent_.size() && c < came_.size() && usual_.has(delay(s, c)) && delay(s, c) != own;
    };
    return usual_.has(own) && !possible(sent + 1, came) && !possible(sent - 1, came) &&
           !possible(sent, came + 1) && !possible(sent, came - 1);
  }

 private:
  [[nodiscard]] std::int64_t delay(std::uint32_t sent, std::uint32_t came) const {
    return capture::stamp_difference(instant_from_ns(came_[came]), instant_from_ns(sent_[sent]))
        .count();
  }
  /// Matches each frame that came with the first one that was sent a usual delay before. Delays
  /// have one range, so no other choice matches more.
  void match_usual() {
    std::uint32_t next = 0;
    std::optional<std::uint32_t> last;  // that was matched
    for (std::uint32_t i = 0; i < came_.size(); ++i) {
      while (next < sent_.size() && delay(next, i) > usual_.most) lost.push_back(next++);
      if (next < sent_.size() && usual_.has(delay(next, i))) {
        matched.emplace_back(next, i);
        last = next++;
      } else {
        (last && usual_.has(delay(*last, i)) ? copies : late_).push_back(i);
      }
    }
    while (next < sent_.size()) lost.push_back(next++);
  }
  /// Frames with an unusual delay: the k-th with the k-th.
  void match_rest() {
    const std::size_t both = std::min(lost.size(), late_.size());
    for (std::size_t k = 0; k < both; ++k) matched.emplace_back(lost[k], late_[k]);
    lost.erase(lost.begin(), lost.begin() + static_cast<long>(both));
    copies.insert(copies.end(), late_.begin() + static_cast<long>(both), late_.end());
    std::ranges::sort(copies);
  }
  std::vector<std::int64_t> sent_, came_;  // stamps
  DelayRange usual_;
  std::vector<std::uint32_t> late_;  // that came without a usual delay
};

class Matcher {
 public:
  Matcher(Records near, Records far, const FlowNames& flows, Senders senders)
      : near_(near), far_(far), directions_(flows, senders) {
    result_.forgotten_flows =
        static_cast<std::uint64_t>(std::ranges::count(flows.forgotten(), true));
  }

  Matching run() {
    for (const CaptureRecord& r : near_) directions_.count(r, false);
    for (const CaptureRecord& r : far_) directions_.count(r, true);
    const std::vector<Key> near = sorted_keys(near_), far = sorted_keys(far_);
    group(near, far);
    directions_.decide(near_, far_, pairs_);
    for (const auto& [at_near, at_far] : pairs_) add_pair(at_near, at_far);
    for (const auto& [group_near, group_far] : several_) match_several(group_near, group_far);
    add_alone(alone_near_, false);
    add_alone(alone_far_, true);
    return std::move(result_);
  }

 private:
  void group(Keys near, Keys far) {
    while (!near.empty() || !far.empty()) {
      const bool take_near = far.empty() || (!near.empty() && near[0].identity <= far[0].identity);
      const Identity& identity = take_near ? near[0].identity : far[0].identity;
      add_group(split(near, identity), split(far, identity));
    }
  }

  void add_group(Keys near, Keys far) {
    const std::size_t both = std::min(near.size(), far.size());
    for (std::size_t k = 0; k < both; ++k)
      directions_.vote(near_[near[k].order], far_[far[k].order]);
    if (near.size() == 1 && far.size() == 1) {
      pairs_.emplace_back(near[0].order, far[0].order);
    } else if (both > 0) {
      several_.emplace_back(near, far);
    } else {
      for (const Key& key : near) alone_near_.push_back(key.order);
      for (const Key& key : far) alone_far_.push_back(key.order);
    }
  }

  void add_pair(std::uint32_t at_near, std::uint32_t at_far) {
    const CaptureRecord &near = near_[at_near], &far = far_[at_far];
    const bool goes_far = directions_.goes_far(near, far);
    result_.matches.push_back({at_near, at_far, goes_far, true});
    const std::int64_t delta = far_minus_near(near, far);
    usual_[goes_far ? 1 : 0].add(goes_far ? delta : -delta);
  }

  static std::vector<std::int64_t> stamps_of(Keys keys, Records records) {
    std::vector<std::int64_t> stamps;
    for (const Key& key : keys) stamps.push_back(records[key.order].stamp_ns);
    return stamps;
  }

  void match_several(Keys near, Keys far) {
    const bool goes_far = directions_.goes_far(near_[near[0].order], far_[far[0].order]);
    const Keys sent = goes_far ? near : far, came = goes_far ? far : near;
    EqualFrames found(stamps_of(sent, goes_far ? near_ : far_),
                      stamps_of(came, goes_far ? far_ : near_), usual_[goes_far ? 1 : 0]);
    found.run();
    for (const auto& [s, c] : found.matched)
      result_.matches.push_back({goes_far ? sent[s].order : came[c].order,
                                 goes_far ? came[c].order : sent[s].order, goes_far,
                                 found.is_certain(s, c)});
    for (const std::uint32_t s : found.lost)
      result_.unmatched.push_back({sent[s].order, !goes_far, goes_far, false});
    for (const std::uint32_t c : found.copies)
      result_.unmatched.push_back({came[c].order, goes_far, goes_far, true});
  }

  void add_alone(const std::vector<std::uint32_t>& orders, bool at_far) {
    for (const std::uint32_t order : orders) {
      const CaptureRecord& frame = (at_far ? far_ : near_)[order];
      result_.unmatched.push_back({order, at_far, directions_.goes_far(frame, at_far), false});
    }
  }

  Records near_, far_;
  Directions directions_;
  Matching result_;
  Pairs pairs_;                                 // frames without an equal one
  std::vector<std::pair<Keys, Keys>> several_;  // equal frames, at both points
  std::vector<std::uint32_t> alone_near_, alone_far_;
  DelayRange usual_[2];  // to near, to far
};

}  // namespace

Matching match_frames(Records near, Records far, const FlowNames& flows, Senders senders) {
  return Matcher(near, far, flows, senders).run();
}

}  // namespace lw::dissect
