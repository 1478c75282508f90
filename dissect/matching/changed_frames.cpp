// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/matching/changed_frames.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <ranges>
#include <utility>

namespace lw::dissect {
namespace {

class ChangedFrames {
 public:
  ChangedFrames(MatchState& state, const Directions& directions)
      : state_(state), directions_(directions) {}

  void match() {
    for (const bool goes_far : {true, false}) {
      Lists lists = cut_unmatched(goes_far);
      const auto twins = cut_twins(lists.came, goes_far);
      const DelayRange ranges[] = {state_.typical[goes_far ? 1 : 0], state_.usual[goes_far ? 1 : 0],
                                   state_.usual[goes_far ? 1 : 0].widened()};
      for (const DelayRange& range : ranges) match_changed_by(icrc_key, lists, goes_far, range);
      for (const DelayRange& range : ranges) {
        match_changed_by(place_key, lists, goes_far, range);
        match_changed_by(packet_key, lists, goes_far, range);
        match_by_time(lists, goes_far, range);
      }
      for (const std::uint32_t order : lists.sent)
        state_.result.unmatched.push_back({order, !goes_far, goes_far, false});
      const std::set<std::uint32_t> alone(lists.came.begin(), lists.came.end());
      for (const std::uint32_t order : lists.came)
        state_.result.unmatched.push_back(
            {order, goes_far, goes_far, state_.late_copies[goes_far ? 1 : 0].contains(order)});
      for (const auto& [twin, first] : twins)
        state_.result.unmatched.push_back({twin, goes_far, goes_far, !alone.contains(first)});
    }
  }

 private:
  struct Lists {
    std::vector<std::uint32_t> sent, came;  // orders of frames without a match
  };

  /// Removes copies of changed frames: frames that are equal to an earlier one and came as close to
  /// it as delays differ. Returns each with that earlier frame.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> cut_twins(std::vector<std::uint32_t>& came,
                                                                 bool goes_far) const {
    const DelayRange& range = state_.usual[goes_far ? 1 : 0];
    std::vector<std::pair<std::uint32_t, std::uint32_t>> twins;
    if (!range.known()) return twins;
    const Records records = state_.receivers(goes_far);
    const std::vector<MatchKey> keys = sorted_keys(records, came, identity_key, state_.flows);
    std::set<std::uint32_t> cut;
    for (std::size_t i = 1, first = 0; i < keys.size(); ++i) {
      const CaptureRecord a = records[keys[first].order], b = records[keys[i].order];
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

  /// Removes the frames of one direction without a match from the result, except copies, and
  /// returns them.
  Lists cut_unmatched(bool goes_far) {
    Lists lists;
    std::erase_if(state_.result.unmatched, [&](const Unmatched& frame) {
      if (frame.goes_far != goes_far || frame.copy) return false;
      (frame.at_receiver() ? lists.came : lists.sent).push_back(frame.order);
      return true;
    });
    std::ranges::sort(lists.sent);
    std::ranges::sort(lists.came);
    return lists;
  }

  void match_changed_by(MatchKeyOf key_of, Lists& lists, bool goes_far, const DelayRange& usual) {
    const auto keys = [&](Records records, std::span<const std::uint32_t> orders) {
      return sorted_keys(records, orders, key_of, state_.flows);
    };
    const std::vector<MatchKey> sent = keys(state_.senders(goes_far), lists.sent),
                                came = keys(state_.receivers(goes_far), lists.came);
    lists = {};
    for_each_group(sent, came, [&](MatchKeys s, MatchKeys c) {
      if (!s.empty() && !c.empty()) return state_.match_alike(s, c, goes_far, true, usual);
      for (const MatchKey& key : s) lists.sent.push_back(key.order);
      for (const MatchKey& key : c) lists.came.push_back(key.order);
    });
    const Lists rest = cut_unmatched(goes_far);
    lists.sent.insert(lists.sent.end(), rest.sent.begin(), rest.sent.end());
    lists.came.insert(lists.came.end(), rest.came.begin(), rest.came.end());
    std::ranges::sort(lists.sent);
    std::ranges::sort(lists.came);
  }

  /// Similarity of two frames: 1 for an equal destination QP, 2 for PSN, 1 for opcode, 2 for the
  /// rest.
  [[nodiscard]] int likeness(const CaptureRecord& a, const CaptureRecord& b) const {
    const FlowNames& flows = state_.flows;
    return (flows.dest_qp(a.flow) == flows.dest_qp(b.flow) ? 1 : 0) + (a.psn == b.psn ? 2 : 0) +
           (a.opcode == b.opcode ? 1 : 0) + (a.rest == b.rest ? 2 : 0);
  }

  /// Matches frames of one length, of which one was lost and one came when that was due: the most
  /// similar first.
  void match_by_time(Lists& lists, bool goes_far, const DelayRange& range) {
    if (!range.known()) return;
    const Records sent = state_.senders(goes_far), came = state_.receivers(goes_far);
    std::ranges::stable_sort(lists.sent, {}, [&](auto order) { return sent.stamp_ns(order); });
    std::vector<bool> taken(lists.sent.size());
    std::set<Identity> known;  // identities of the frames that were matched here
    const auto take_due = [&](std::uint32_t order, bool stray) {
      const auto best = known.contains(came.identity(order))
                            ? std::nullopt
                            : find_due(lists.sent, taken, came[order], goes_far, stray, range);
      if (!best) return false;
      known.insert(came.identity(order));
      taken[*best] = true;
      const std::uint32_t s = lists.sent[*best];
      state_.result.matches.push_back(
          match_of(goes_far ? s : order, goes_far ? order : s, goes_far, false, true));
      return true;
    };
    std::erase_if(lists.came, [&](std::uint32_t order) { return take_due(order, false); });
    // A frame with a changed destination QP has a flow that seems to come from the other end.
    std::erase_if(state_.result.unmatched, [&](const Unmatched& frame) {
      return !frame.copy && frame.at_far == goes_far && frame.goes_far != goes_far &&
             take_due(frame.order, true);
    });
    // Their copies.
    const auto is_copy = [&](std::uint32_t order) { return known.contains(came.identity(order)); };
    for (Unmatched& frame : state_.result.unmatched)
      if (frame.at_far == goes_far && frame.goes_far != goes_far && is_copy(frame.order))
        frame.goes_far = goes_far, frame.copy = true;
    for (const std::uint32_t order : lists.came | std::views::filter(is_copy))
      state_.result.unmatched.push_back({order, goes_far, goes_far, true});
    std::erase_if(lists.came, is_copy);
    std::size_t i = 0;
    std::erase_if(lists.sent, [&](std::uint32_t) { return taken[i++]; });
  }

  /// Returns the lost frame that is most similar to `frame`, which came when that was due.
  [[nodiscard]] std::optional<std::size_t> find_due(std::span<const std::uint32_t> lost,
                                                    const std::vector<bool>& taken,
                                                    const CaptureRecord& frame, bool goes_far,
                                                    bool stray, const DelayRange& usual) const {
    const Records sent = state_.senders(goes_far);
    std::int64_t earliest = 0;
    if (__builtin_sub_overflow(frame.stamp_ns, usual.most, &earliest)) return std::nullopt;
    const auto at = std::ranges::lower_bound(
        lost, earliest, {}, [&](std::uint32_t order) { return sent.stamp_ns(order); });
    const auto begin = static_cast<std::size_t>(at - lost.begin());
    std::optional<std::size_t> best;
    // A damaged frame needs one equal part, any other frame half of all parts.
    int most = stray ? kAllButQp - 1 : frame.bad_icrc ? 0 : 2;
    for (std::size_t i = begin; i < std::min(lost.size(), begin + kMostDue); ++i) {
      const CaptureRecord candidate = sent[lost[i]];
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

  MatchState& state_;
  const Directions& directions_;
};

}  // namespace

void match_changed(MatchState& state, const Directions& directions) {
  ChangedFrames(state, directions).match();
}

}  // namespace lw::dissect
