// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/points/tap_relation.h"

namespace lw::dissect {
namespace {

/// The most that two views of a frame at one point are apart: a mirror's queue.
constexpr Duration kSamePlace = std::chrono::microseconds{20};

bool is_at_one_place(const TapPairFacts& facts) noexcept {
  const auto& [there, back] = facts.later;
  if (!there || !back) return false;
  const auto is_short = [](Duration time) { return time <= kSamePlace && time >= -kSamePlace; };
  const bool reversed = (*there > Duration{}) != (*back > Duration{}) && *there != *back;
  return is_short(*there) && is_short(*back) && !reversed;
}

/// Whether packets are divided between two taps, and the same frames at both are those that were
/// sent again: they take any way, while of two places of a path one sees all first.
bool is_of_repetitions(const TapPairFacts& facts) noexcept {
  return 4 * facts.shared < 3 * facts.common && 4 * facts.unordered >= facts.shared &&
         facts.same_time && facts.interleaved;
}

}  // namespace

TapRelation relation_of(const TapPairFacts& facts) noexcept {
  const bool sees_the_same = facts.shared > 0 && 4 * facts.shared >= facts.common;
  if (sees_the_same && is_of_repetitions(facts)) return TapRelation::parts;
  if (sees_the_same) return is_at_one_place(facts) ? TapRelation::views : TapRelation::own_points;
  if (!facts.common_addresses || !facts.same_time) return TapRelation::unknown;
  if (facts.opposite) return TapRelation::halves;
  if (facts.common_flows && !facts.interleaved) return TapRelation::unknown;
  return TapRelation::parts;
}

}  // namespace lw::dissect
