// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/chance.h"
#include "emulator/direction.h"

namespace lw::emulator {

/// What a rule may do to a frame, in the order in which it does it. `none` is no stage: the frame
/// went by untouched, or the box itself had no room for it. `event` is aimed at one frame, and
/// comes before what chance does; `outage` is the path being out; `pause` made a frame of its own,
/// by which a full queue asks for silence. Ledgers store these numbers: more go to the end.
enum class Stage : std::uint8_t {
  none,
  event,
  outage,
  police,
  loss,
  corrupt,
  duplicate,
  mark,
  queue,
  delay,
  reorder,
  pause,
};
inline constexpr std::size_t kStages = 12;

constexpr std::string_view name_of(Stage stage) noexcept {
  constexpr std::string_view kNames[kStages] = {"none",  "event",   "outage",    "police",
                                                "loss",  "corrupt", "duplicate", "mark",
                                                "queue", "delay",   "reorder",   "pause"};
  return kNames[static_cast<std::size_t>(stage)];
}

/// The stages that changed, dropped or created a frame, or moved its release.
class StageSet {
 public:
  constexpr void add(Stage stage) noexcept {
    bits_ = static_cast<std::uint16_t>(bits_ | 1U << static_cast<unsigned>(stage));
  }
  [[nodiscard]] constexpr bool has(Stage stage) const noexcept {
    return bits_ >> static_cast<unsigned>(stage) & 1U;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr bool several() const noexcept { return std::popcount(bits_) > 1; }
  /// The last of them in order; `none` where there is none.
  [[nodiscard]] constexpr Stage last() const noexcept {
    return static_cast<Stage>(bits_ == 0 ? 0 : std::bit_width(bits_) - 1);
  }
  /// Bit i is the stage of that place in enum Stage: how they are stored.
  [[nodiscard]] constexpr std::uint16_t bits() const noexcept { return bits_; }
  static constexpr StageSet of(std::uint16_t bits) noexcept {
    StageSet set;
    set.bits_ = bits;
    return set;
  }
  friend constexpr bool operator==(StageSet, StageSet) = default;

 private:
  std::uint16_t bits_ = 0;
};

/// In the order in which they act.
inline std::vector<std::string_view> names_of(StageSet stages) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < kStages; ++i)
    if (const auto stage = static_cast<Stage>(i); stages.has(stage))
      names.push_back(name_of(stage));
  return names;
}

/// The draws of one stage of one rule in one direction (DESIGN 2.5): they depend on nothing else
/// but the seed and the ingress frame number, so that changing a rule leaves all others alone.
inline Chance chance_of(std::uint64_t seed, Direction direction, std::string_view rule,
                        Stage stage) noexcept {
  // Each name is hashed by itself, so that no two concatenations can coincide.
  std::uint64_t domain = hash_name(name_of(direction));
  domain = domain * 0x9e3779b97f4a7c15 + hash_name(rule);
  domain = domain * 0x9e3779b97f4a7c15 + hash_name(name_of(stage));
  return Chance(seed, domain);
}

}  // namespace lw::emulator
