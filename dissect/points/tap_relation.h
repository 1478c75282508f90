// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/time.h"

namespace lw::dissect {

/// How two taps belong together.
enum class TapRelation : std::uint8_t {
  unknown,     // the frames do not show it
  halves,      // of one point: each carries one direction
  parts,       // of one point: the packets of a direction are divided between them
  views,       // of one point: both show the same frames at the same time
  own_points,  // both saw the same frames, at two places of their path
};

/// What the first frames of a capture say about two taps, a and b. Frames are compared without what
/// a hop changes (see Identity).
struct TapPairFacts {
  std::uint64_t shared = 0;  // frames that both saw
  /// Of these, summed over the directions: by the tap that saw fewer of a direction's first.
  std::uint64_t unordered = 0;
  std::uint64_t common = 0;  // frames of the flows that both saw, at the tap that has fewer
  /// How much later b saw the shared frames than a: medians, from the lower address to the higher,
  /// and back. Nothing: no frame of that direction is shared.
  std::array<std::optional<Duration>, 2> later = {};
  /// Median times from requests that a saw to the answers that b saw, and from requests at b to
  /// answers at a. Below 0: the clocks of the two taps differ. Nothing: too few of them. Known only
  /// where some taps carry one direction each.
  std::array<std::optional<Duration>, 2> answered = {};
  bool common_addresses = false;  // both have frames between the same two addresses
  bool same_time = false;         // they have them at the same time
  bool opposite = false;          // of all such addresses, each has another direction only
  bool common_flows = false;      // requests of one flow are at both
  bool interleaved = false;       // and their PSNs overlap
};

/// The relation that the facts show; a pure function, a row of its table after the other:
///
/// | a quarter of the common flows' frames are at both | |
/// |---|---|
/// | both directions, at most 20 us apart, and the same tap is not first in one and last in the
/// other | views |
/// | otherwise | own points: the far one is later in one direction and sooner in the other, or the
/// clocks differ |
/// | fewer than three quarters are at both, each tap saw a quarter of them first, and their PSNs
/// overlap: the sender repeats packets, and each transmission takes either way | parts |
/// | **no frames at both, at the same time** | |
/// | each tap has the other direction | halves |
/// | requests of one flow at both, with overlapping PSNs; or other flows of the same addresses |
/// parts |
/// | **otherwise** | unknown |
TapRelation relation_of(const TapPairFacts& facts) noexcept;

}  // namespace lw::dissect
