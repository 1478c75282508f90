// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace lw::emulator {

/// The number of a stage. Ledgers store it. `none`: no stage acted. `pause`: the box made the
/// frame, by which a full queue asks for silence. A new stage declares its number in its own file;
/// the next free one is 12.
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
/// How many stages have room in a StageSet.
inline constexpr std::size_t kStages = 32;

std::string_view name_of(Stage stage) noexcept;

/// The stages that changed, dropped or created a frame, or moved its release.
class StageSet {
 public:
  using Bits = std::uint32_t;

  constexpr void add(Stage stage) noexcept { bits_ |= Bits{1} << static_cast<unsigned>(stage); }
  [[nodiscard]] constexpr bool has(Stage stage) const noexcept {
    return bits_ >> static_cast<unsigned>(stage) & 1U;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr bool several() const noexcept { return std::popcount(bits_) > 1; }
  /// The last of them in the order in which stages act; `none` where there is none.
  [[nodiscard]] Stage last() const noexcept;
  /// Bit i stands for stage number i, in ledgers too.
  [[nodiscard]] constexpr Bits bits() const noexcept { return bits_; }
  static constexpr StageSet of(Bits bits) noexcept {
    StageSet set;
    set.bits_ = bits;
    return set;
  }
  friend constexpr bool operator==(StageSet, StageSet) = default;

 private:
  Bits bits_ = 0;
};

static_assert(sizeof(StageSet::Bits) * 8 >= kStages, "widen StageSet::Bits to hold kStages");

/// In the order in which they act.
std::vector<std::string_view> names_of(StageSet stages);

/// Where a frame goes.
enum class Action : std::uint8_t {
  pass,   // goes on at once
  queue,  // goes on at `release`
  hold,   // the same, but not before others have overtaken it
  drop,
};

using RuleIndex = std::uint32_t;
/// "No rule matched". Transit (transit.h) has 21 bits for a rule.
inline constexpr RuleIndex kUntouched = (1U << 21) - 1;
/// The most rules of one direction.
inline constexpr std::size_t kMostRules = kUntouched;

/// Where a frame waits for its release: one of the release queue's lines, on each of which due
/// times never fall, or the wheel, where they come as they like.
using FifoIndex = std::uint16_t;
inline constexpr FifoIndex kWheel = 0xffff;

/// What an event does to the packet that it is aimed at.
enum class EventAction : std::uint8_t { drop, mark, corrupt, delay, duplicate };

std::string_view name_of(EventAction action) noexcept;

/// What becomes of a frame.
struct Decision {
  Action action = Action::pass;
  Stage stage = Stage::none;  // the last one that acted
  FifoIndex line = 0;         // for Action::queue and hold
  RuleIndex rule = kUntouched;
  StageSet acted = {};      // what made it more than its rule's nominal delay: the ledger has it
  std::uint8_t copies = 0;  // frames to make of it, once it is corrupted
  bool corrupt = false, mark = false;     // to be done to its bytes
  bool overtakes = false;                 // counts for a frame that its rule holds back
  EventAction aimed = EventAction::drop;  // where Stage::event acted: what it did
  Instant release = {};                   // for Action::queue and hold

  void act(Stage by) noexcept {
    stage = by;
    acted.add(by);
  }
  void drop(Stage by) noexcept {
    action = Action::drop;
    act(by);
  }
};

/// What an event that is aimed at one frame asks for, beside what its rule does.
struct EventActions {
  bool drop = false, mark = false, corrupt = false;
  std::uint8_t copies = 0;
  Duration delay{};

  friend bool operator==(const EventActions&, const EventActions&) = default;
};

}  // namespace lw::emulator
