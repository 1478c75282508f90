// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dissect/points/tap_relation.h"

namespace lw::dissect {

/// What decided which taps a capture point has. (A tap: an interface of a file.)
enum class PointBy : std::uint8_t { one_tap, name, halves, parts, views, option };
std::string_view name_of(PointBy by) noexcept;  // "one tap", "name", "halves", ...

/// What is known of a tap before the frames are compared.
struct Tap {
  std::string label;        // taps with the same label are one point unless the frames contradict
  bool is_defined = false;  // the label itself defines the point: frames are not asked
  std::uint32_t file = 0;   // index of its place
  bool is_seen = false;     // it has RoCE frames
};

/// Taps that are one capture point, in their order.
struct TapGroup {
  std::vector<std::uint32_t> taps = {};
  PointBy by = PointBy::one_tap;
  bool is_seen_elsewhere = false;  // a tap of the same label saw the same frames elsewhere
};

using TapPairs = std::map<std::pair<std::uint32_t, std::uint32_t>, TapPairFacts>;

/// Groups the taps that were seen: by what the frames show (see relation_of()), first within a
/// file, then by label. Two taps that are own points are never in one group. Of taps with one
/// direction each, those are joined first that have the soonest answers: of two hosts with two taps
/// each, the tap that sends belongs to the tap that receives. Halves are not joined if other taps
/// show, by clocks that agree, that both are at the same end of the path for their directions.
/// `left_out[tap]`: the tap is not grouped. A pure function.
std::vector<TapGroup> group_taps(const std::vector<Tap>& taps, const TapPairs& facts,
                                 const std::vector<bool>& left_out);

}  // namespace lw::dissect
