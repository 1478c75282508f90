// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/tap_groups.h"

#include <algorithm>
#include <numeric>

namespace lw::dissect {
namespace {

using PairKey = std::pair<std::uint32_t, std::uint32_t>;
using Relations = std::map<PairKey, TapRelation>;

/// Joins taps to groups.
class TapGrouping {
 public:
  TapGrouping(const std::vector<Tap>& taps, const TapPairs& facts,
              const std::vector<bool>& left_out)
      : taps_(taps), facts_(facts), left_out_(left_out), group_(taps.size()) {
    std::iota(group_.begin(), group_.end(), 0U);
    for (const auto& [key, fact] : facts)
      if (is_asked(key.first) && is_asked(key.second)) relations_[key] = relation_of(fact);
    note_positions();
  }

  std::vector<TapGroup> run() {
    for (const bool same_file : {true, false}) {
      for (const auto& [key, relation] : relations_)
        if (is_in_one_file(key) == same_file && relation != TapRelation::halves)
          join_by(key, relation);
      for (const PairKey& key : halves(same_file)) join_by(key, TapRelation::halves);
    }
    join_by_label();
    return groups();
  }

 private:
  [[nodiscard]] bool is_asked(std::uint32_t tap) const {
    return is_grouped(tap) && !taps_[tap].is_defined;
  }
  [[nodiscard]] bool is_grouped(std::uint32_t tap) const {
    return tap < taps_.size() && taps_[tap].is_seen && !left_out_[tap];
  }
  [[nodiscard]] bool is_in_one_file(const PairKey& key) const {
    return taps_[key.first].file == taps_[key.second].file;
  }
  [[nodiscard]] TapRelation relation_between(const PairKey& key) const {
    const auto known = relations_.find(key);
    return known == relations_.end() ? TapRelation::unknown : known->second;
  }

  /// The pairs of taps that may be halves, those with the soonest answers first: the tap that a
  /// host receives requests by belongs to the tap by which it answers them. Those whose answers
  /// come before the requests have two clocks, and are the last.
  [[nodiscard]] std::vector<PairKey> halves(bool same_file) const {
    std::vector<std::pair<Duration, PairKey>> order;
    for (const auto& [key, relation] : relations_) {
      if (relation != TapRelation::halves || is_in_one_file(key) != same_file) continue;
      Duration soonest = Duration::max();
      for (const auto& time : facts_.at(key).answered)
        if (time && *time >= Duration{}) soonest = std::min(soonest, *time);
      order.emplace_back(soonest, key);
    }
    std::ranges::sort(order);
    std::vector<PairKey> keys;
    for (const auto& [soonest, key] : order) keys.push_back(key);
    return keys;
  }

  /// Whether a tap is before the others that saw its frames (> 0), or behind them (< 0). Where
  /// answers come before their requests, clocks differ, and nothing is concluded.
  void note_positions() {
    const auto is_early = [](const std::optional<Duration>& time) {
      return time && *time < Duration{};
    };
    for (const auto& [key, facts] : facts_)
      if (relations_.contains(key) && std::ranges::any_of(facts.answered, is_early)) return;
    for (const auto& [key, relation] : relations_) {
      if (relation != TapRelation::own_points) continue;
      for (const auto& later : facts_.at(key).later) {
        if (!later) continue;
        const int sign = *later > Duration{} ? 1 : -1;
        position_[key.first] += sign;
        position_[key.second] -= sign;
      }
    }
  }
  [[nodiscard]] int position_of(std::uint32_t tap) const {
    const auto known = position_.find(tap);
    return known == position_.end() ? 0 : known->second;
  }

  void join_by_label() {
    for (std::uint32_t a = 0; a < taps_.size(); ++a)
      for (std::uint32_t b = a + 1; b < taps_.size(); ++b)
        if (is_grouped(a) && is_grouped(b) && taps_[a].label == taps_[b].label &&
            relation_between({a, b}) != TapRelation::halves)
          join(a, b);
  }

  void join_by(const PairKey& key, TapRelation relation) {
    if (relation == TapRelation::unknown || relation == TapRelation::own_points) return;
    const int one = position_of(key.first), other = position_of(key.second);
    if (relation == TapRelation::halves && one * other > 0) return;
    join(key.first, key.second);
  }

  /// Joins the groups of two taps, unless taps of them are own points.
  void join(std::uint32_t a, std::uint32_t b) {
    const std::uint32_t one = group_[a], other = group_[b];
    if (one == other) return;
    for (const auto& [key, relation] : relations_) {
      const std::uint32_t x = group_[key.first], y = group_[key.second];
      const bool between = (x == one && y == other) || (x == other && y == one);
      if (between && relation == TapRelation::own_points) return;
    }
    std::ranges::replace(group_, other, one);
  }

  [[nodiscard]] PointBy reason_of(const TapGroup& group) const {
    if (group.taps.size() == 1) return PointBy::one_tap;
    const auto has = [&](TapRelation wanted) {
      return std::ranges::any_of(relations_, [&](const auto& entry) {
        return entry.second == wanted &&
               std::ranges::find(group.taps, entry.first.first) != group.taps.end() &&
               std::ranges::find(group.taps, entry.first.second) != group.taps.end();
      });
    };
    if (has(TapRelation::parts)) return PointBy::parts;
    if (has(TapRelation::halves)) return PointBy::halves;
    return has(TapRelation::views) ? PointBy::views : PointBy::name;
  }

  [[nodiscard]] std::vector<TapGroup> groups() const {
    std::map<std::uint32_t, TapGroup> found;
    for (std::uint32_t tap = 0; tap < taps_.size(); ++tap)
      if (is_grouped(tap)) found[group_[tap]].taps.push_back(tap);
    for (const auto& [key, relation] : relations_) {
      if (relation != TapRelation::own_points) continue;
      if (taps_[key.first].label != taps_[key.second].label) continue;
      found[group_[key.first]].is_seen_elsewhere = true;
      found[group_[key.second]].is_seen_elsewhere = true;
    }
    std::vector<TapGroup> all;
    for (auto& [index, group] : found) {
      group.by = reason_of(group);
      all.push_back(std::move(group));
    }
    return all;
  }

  const std::vector<Tap>& taps_;
  const TapPairs& facts_;
  const std::vector<bool>& left_out_;
  std::vector<std::uint32_t> group_;  // by tap: the lowest tap of its group
  Relations relations_;
  std::map<std::uint32_t, int> position_;
};

}  // namespace

std::string_view name_of(PointBy by) noexcept {
  constexpr std::string_view kNames[] = {"one tap", "name", "halves", "parts", "views", "option"};
  return kNames[static_cast<std::size_t>(by)];
}

std::vector<TapGroup> group_taps(const std::vector<Tap>& taps, const TapPairs& facts,
                                 const std::vector<bool>& left_out) {
  return TapGrouping(taps, facts, left_out).run();
}

}  // namespace lw::dissect
