// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/matching.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include "dissect/matching/equal_frames.h"

namespace lw::dissect {
namespace {

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;  // orders at near and far

/// A comparison key of a frame, and the frame.
struct Key {
  Identity value;
  std::uint32_t order;
};
using Keys = std::span<const Key>;
using KeyOf = Identity (*)(const CaptureRecord&);

Identity identity_key(const CaptureRecord& r) { return r.identity; }
/// Key of damaged frames: the path leaves the ICRC as it is. Without an ICRC, order is used.
Identity icrc_key(const CaptureRecord& r) {
  constexpr std::uint64_t kUnknown = std::uint64_t{1} << 31;  // no length is so large
  const bool known = r.icrc != 0;
  return std::uint64_t{known ? r.icrc : r.order} << 32 | r.length | (known ? 0 : kUnknown);
}
/// Key of changed frames: flow, PSN and opcode.
Identity place_key(const CaptureRecord& r) {
  return std::uint64_t{r.flow} << 32 | r.psn << 8 | r.opcode;
}
/// Key of frames with rewritten addresses or ports: the packet from the BTH on.
Identity packet_key(const CaptureRecord& r) {
  return (std::uint64_t{r.rest} << 32 | r.psn << 8 | r.opcode) ^ std::uint64_t{r.dest_qp} << 40;
}

void sort_keys(std::vector<Key>& keys) {
  std::ranges::sort(keys, {}, [](const Key& k) { return std::tuple(k.value, k.order); });
}

std::vector<Key> sorted_keys(Records records) {
  std::vector<Key> keys;
  keys.reserve(records.size());
  for (const CaptureRecord& r : records) keys.push_back({identity_key(r), r.order});
  sort_keys(keys);
  return keys;
}

std::vector<Key> sorted_keys(Records records, std::span<const std::uint32_t> orders, KeyOf key_of) {
  std::vector<Key> keys;
  keys.reserve(orders.size());
  for (const std::uint32_t order : orders) keys.push_back({key_of(records[order]), order});
  sort_keys(keys);
  return keys;
}

/// Removes the keys with this value from the front, and returns them.
Keys split(Keys& rest, const Identity& value) {
  std::size_t count = 0;
  while (count < rest.size() && rest[count].value == value) ++count;
  const Keys group = rest.first(count);
  rest = rest.subspan(count);
  return group;
}

/// Calls `take` with the keys of each value in both lists.
template <class Take>
void for_each_group(Keys a, Keys b, Take take) {
  while (!a.empty() || !b.empty()) {
    const bool take_a = b.empty() || (!a.empty() && a[0].value <= b[0].value);
    const Identity value = take_a ? a[0].value : b[0].value;
    const Keys group = split(a, value);
    take(group, split(b, value));
  }
}

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
    for_each_group(near, far, [&](Keys a, Keys b) { add_group(a, b); });
    sort_pairs();
    for (const auto& [at_near, at_far] : pairs_) directions_.vote(near_[at_near], far_[at_far]);
    vote(icrc_key);
    vote(place_key);
    vote(packet_key);
    directions_.decide(near_, far_, pairs_);
    result_.one_way = directions_.is_one_way();
    for (const auto& [at_near, at_far] : pairs_) add_pair(at_near, at_far);
    find_typical();
    for (const auto& [group_near, group_far] : several_) match_several(group_near, group_far);
    add_alone(alone_near_, false);
    add_alone(alone_far_, true);
    match_changed();
    for (Match& m : result_.matches)
      m.changed = m.changed || is_damaged(near_[m.near], far_[m.far]);
    return std::move(result_);
  }

 private:
  void add_group(Keys near, Keys far) {
    const std::size_t both = std::min(near.size(), far.size());
    if (near.size() == 1 && far.size() == 1) {
      pairs_.emplace_back(near[0].order, far[0].order);
      return;
    }
    for (std::size_t k = 0; k < both; ++k)
      directions_.vote(near_[near[k].order], far_[far[k].order]);
    if (both > 0) {
      several_.emplace_back(near, far);
    } else {
      for (const Key& key : near) alone_near_.push_back(key.order);
      for (const Key& key : far) alone_far_.push_back(key.order);
    }
  }

  /// Sorts pairs_ by their order at the near point, so that what follows reads the records from the
  /// first to the last: 0.42 s for 512,000 frames, and 0.53 s in the order of their identities.
  void sort_pairs() {
    constexpr std::uint32_t kAlone = ~0U;
    std::vector<std::uint32_t> far_of(near_.size(), kAlone);
    for (const auto& [at_near, at_far] : pairs_) far_of[at_near] = at_far;
    pairs_.clear();
    for (std::uint32_t at_near = 0; at_near < far_of.size(); ++at_near)
      if (far_of[at_near] != kAlone) pairs_.emplace_back(at_near, far_of[at_near]);
  }

  void add_pair(std::uint32_t at_near, std::uint32_t at_far) {
    const CaptureRecord &near = near_[at_near], &far = far_[at_far];
    const bool goes_far = directions_.goes_far(near, far);
    result_.matches.push_back({at_near, at_far, goes_far, true, false});
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
    // If typical delays don't explain all frames that came, any delay that occurred may.
    EqualFrames typical(stamps_of(sent, senders(goes_far)), stamps_of(came, receivers(goes_far)),
                        typical_[goes_far ? 1 : 0]);
    typical.match_usual();
    match_alike(sent, came, goes_far, false,
                (typical.late.empty() ? typical_ : usual_)[goes_far ? 1 : 0]);
  }

  /// Finds the range of the delays without the longest twentieth; needs 20 delays.
  void find_typical() {
    std::vector<std::int64_t> delays[2];
    for (const Match& m : result_.matches) {
      const std::int64_t delta = far_minus_near(near_[m.near], far_[m.far]);
      delays[m.goes_far ? 1 : 0].push_back(m.goes_far ? delta : -delta);
    }
    for (const std::size_t way : {0U, 1U}) {
      typical_[way] = usual_[way];
      if (delays[way].size() < 20) continue;
      const auto at = delays[way].end() - static_cast<long>(delays[way].size() / 20) - 1;
      std::ranges::nth_element(delays[way], at);
      typical_[way].most = *at;
    }
  }

  Records senders(bool goes_far) const { return goes_far ? near_ : far_; }
  Records receivers(bool goes_far) const { return goes_far ? far_ : near_; }

  void match_alike(Keys sent, Keys came, bool goes_far, bool changed, const DelayRange& usual) {
    EqualFrames found(stamps_of(sent, senders(goes_far)), stamps_of(came, receivers(goes_far)),
                      usual);
    found.match_usual();
    if (!changed) found.match_rest();
    for (const auto& [s, c] : found.matched)
      result_.matches.push_back({goes_far ? sent[s].order : came[c].order,
                                 goes_far ? came[c].order : sent[s].order, goes_far,
                                 found.is_certain(s, c), changed});
    for (const std::uint32_t s : found.lost)
      result_.unmatched.push_back({sent[s].order, !goes_far, goes_far, false});
    for (const std::uint32_t c : found.late) {
      // A copy, unless it is another frame that became equal to this one.
      if (!changed) late_copies_[goes_far ? 1 : 0].insert(came[c].order);
      result_.unmatched.push_back({came[c].order, goes_far, goes_far, false});
    }
    for (const std::uint32_t c : found.copies)
      result_.unmatched.push_back({came[c].order, goes_far, goes_far, true});
  }

  /// Lets frames that were changed on the way vote for directions, too.
  void vote(KeyOf key_of) {
    const std::vector<Key> near = sorted_keys(near_, alone_near_, key_of),
                           far = sorted_keys(far_, alone_far_, key_of);
    for_each_group(near, far, [&](Keys a, Keys b) {
      for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k)
        directions_.vote(near_[a[k].order], far_[b[k].order]);
    });
  }

  void match_changed() {
    for (const bool goes_far : {true, false}) {
      Lists lists = cut_unmatched(goes_far);
      const auto twins = cut_twins(lists.came, goes_far);
      const DelayRange ranges[] = {typical_[goes_far ? 1 : 0], usual_[goes_far ? 1 : 0],
                                   usual_[goes_far ? 1 : 0].widened()};
      for (const DelayRange& range : ranges) match_changed_by(icrc_key, lists, goes_far, range);
      for (const DelayRange& range : ranges) {
        match_changed_by(place_key, lists, goes_far, range);
        match_changed_by(packet_key, lists, goes_far, range);
        match_by_time(lists, goes_far, range);
      }
      for (const std::uint32_t order : lists.sent)
        result_.unmatched.push_back({order, !goes_far, goes_far, false});
      const std::set<std::uint32_t> alone(lists.came.begin(), lists.came.end());
      for (const std::uint32_t order : lists.came)
        result_.unmatched.push_back(
            {order, goes_far, goes_far, late_copies_[goes_far ? 1 : 0].contains(order)});
      for (const auto& [twin, first] : twins)
        result_.unmatched.push_back({twin, goes_far, goes_far, !alone.contains(first)});
    }
  }

  /// Removes copies of changed frames: frames that are equal to an earlier one and came as close to
  /// it as delays differ. Returns each with that earlier frame.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cut_twins(std::vector<std::uint32_t>& came,
                                                                 bool goes_far) const {
    const DelayRange& range = usual_[goes_far ? 1 : 0];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> twins;
    if (!range.known()) return twins;
    const Records records = receivers(goes_far);
    const std::vector<Key> keys = sorted_keys(records, came, identity_key);
    std::set<std::uint32_t> cut;
    for (std::size_t i = 1, first = 0; i < keys.size(); ++i) {
      const CaptureRecord &a = records[keys[first].order], &b = records[keys[i].order];
      const bool equal = keys[i].value == keys[first].value &&
                         DelayRange{0, range.width()}.has(std::abs(far_minus_near(a, b)));
      if (!equal) {
        first = i;
        continue;
      }
      twins.emplace_back(keys[i].order, keys[first].order);
      cut.insert(keys[i].order);
    }
    std::erase_if(came, [&](std::uint32_t order) { return cut.contains(order); });
    return twins;
  }

  /// Whether frames with one ICRC differ in the bytes that it covers.
  static bool is_damaged(const CaptureRecord& a, const CaptureRecord& b) {
    return a.bad_icrc != b.bad_icrc || a.rest != b.rest;
  }

  struct Lists {
    std::vector<std::uint32_t> sent, came;  // orders of frames without a match
  };

  /// Removes the frames of one direction without a match from the result, except copies, and
  /// returns them.
  Lists cut_unmatched(bool goes_far) {
    Lists lists;
    std::erase_if(result_.unmatched, [&](const Unmatched& frame) {
      if (frame.goes_far != goes_far || frame.copy) return false;
      (frame.at_receiver() ? lists.came : lists.sent).push_back(frame.order);
      return true;
    });
    std::ranges::sort(lists.sent);
    std::ranges::sort(lists.came);
    return lists;
  }

  void match_changed_by(KeyOf key_of, Lists& lists, bool goes_far, const DelayRange& usual) {
    const std::vector<Key> sent = sorted_keys(senders(goes_far), lists.sent, key_of),
                           came = sorted_keys(receivers(goes_far), lists.came, key_of);
    lists = {};
    for_each_group(sent, came, [&](Keys s, Keys c) {
      if (!s.empty() && !c.empty()) return match_alike(s, c, goes_far, true, usual);
      for (const Key& key : s) lists.sent.push_back(key.order);
      for (const Key& key : c) lists.came.push_back(key.order);
    });
    const Lists rest = cut_unmatched(goes_far);
    lists.sent.insert(lists.sent.end(), rest.sent.begin(), rest.sent.end());
    lists.came.insert(lists.came.end(), rest.came.begin(), rest.came.end());
    std::ranges::sort(lists.sent);
    std::ranges::sort(lists.came);
  }

  /// Similarity of two frames: 1 for an equal destination QP, 2 for PSN, 1 for opcode, 2 for the
  /// rest.
  static int likeness(const CaptureRecord& a, const CaptureRecord& b) {
    return (a.dest_qp == b.dest_qp ? 1 : 0) + (a.psn == b.psn ? 2 : 0) +
           (a.opcode == b.opcode ? 1 : 0) + (a.rest == b.rest ? 2 : 0);
  }

  /// Matches frames of one length, of which one was lost and one came when that was due: the most
  /// similar first.
  void match_by_time(Lists& lists, bool goes_far, const DelayRange& range) {
    if (!range.known()) return;
    const Records sent = senders(goes_far), came = receivers(goes_far);
    std::ranges::stable_sort(lists.sent, {}, [&](auto order) { return sent[order].stamp_ns; });
    std::vector<bool> taken(lists.sent.size());
    std::set<Identity> known;  // identities of the frames that were matched here
    const auto take_due = [&](std::uint32_t order, bool stray) {
      const auto best = known.contains(came[order].identity)
                            ? std::nullopt
                            : find_due(lists.sent, taken, came[order], goes_far, stray, range);
      if (!best) return false;
      known.insert(came[order].identity);
      taken[*best] = true;
      const std::uint32_t s = lists.sent[*best];
      result_.matches.push_back(
          {goes_far ? s : order, goes_far ? order : s, goes_far, false, true});
      return true;
    };
    std::erase_if(lists.came, [&](std::uint32_t order) { return take_due(order, false); });
    // A frame with a changed destination QP has a flow that seems to come from the other end.
    std::erase_if(result_.unmatched, [&](const Unmatched& frame) {
      return !frame.copy && frame.at_far == goes_far && frame.goes_far != goes_far &&
             take_due(frame.order, true);
    });
    // Their copies.
    const auto is_copy = [&](std::uint32_t order) { return known.contains(came[order].identity); };
    for (Unmatched& frame : result_.unmatched)
      if (frame.at_far == goes_far && frame.goes_far != goes_far && is_copy(frame.order))
        frame.goes_far = goes_far, frame.copy = true;
    for (const std::uint32_t order : lists.came | std::views::filter(is_copy))
      result_.unmatched.push_back({order, goes_far, goes_far, true});
    std::erase_if(lists.came, is_copy);
    std::size_t i = 0;
    std::erase_if(lists.sent, [&](std::uint32_t) { return taken[i++]; });
  }

  /// Returns the lost frame that is most similar to `frame`, which came when that was due.
  [[nodiscard]] std::optional<std::size_t> find_due(std::span<const std::uint32_t> lost,
                                                    const std::vector<bool>& taken,
                                                    const CaptureRecord& frame, bool goes_far,
                                                    bool stray, const DelayRange& usual) const {
    const Records sent = senders(goes_far);
    std::int64_t earliest = 0;
    if (__builtin_sub_overflow(frame.stamp_ns, usual.most, &earliest)) return std::nullopt;
    const auto at = std::ranges::lower_bound(
        lost, earliest, {}, [&](std::uint32_t order) { return sent[order].stamp_ns; });
    const auto begin = static_cast<std::size_t>(at - lost.begin());
    std::optional<std::size_t> best;
    // A damaged frame needs one equal part, any other frame half of all parts.
    int most = stray ? kAllButQp - 1 : frame.bad_icrc ? 0 : 2;
    for (std::size_t i = begin; i < std::min(lost.size(), begin + kMostDue); ++i) {
      const CaptureRecord& candidate = sent[lost[i]];
      if (!usual.has(far_minus_near(candidate, frame))) break;
      if (taken[i] || candidate.length != frame.length) continue;
      if (stray && !directions_.is_stray(frame, candidate)) continue;
      const int alike = likeness(candidate, frame);
      if (alike <= most) continue;
      most = alike;
      best = i;
    }
    return best;
  }
  static constexpr int kAllButQp = 5;
  static constexpr std::size_t kMostDue = 1000;  // lost frames that are tried for one frame

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
  std::set<std::uint32_t> late_copies_[2];  // at near, at far
  DelayRange usual_[2], typical_[2];        // to near, to far
};

}  // namespace

Matching match_frames(Records near, Records far, const FlowNames& flows, Senders senders) {
  return Matcher(near, far, flows, senders).run();
}

}  // namespace lw::dissect
