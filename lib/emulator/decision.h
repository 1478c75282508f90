// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/time.h"

namespace lw::emulator {

/// The number of a stage, as stored in ledgers. `none`: no stage acted. `pause`: the frame is a
/// pause frame made by the emulator for a full queue. A new stage declares its number in its own
/// file; the next free one is 16.
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
/// Number of stages that fit into a StageSet.
inline constexpr std::size_t kStages = 32;

std::string_view name_of(Stage stage) noexcept;

/// A set of stages: those that changed, dropped or created a frame, or moved its release.
class StageSet {
 public:
  using Bits = std::uint32_t;

  constexpr void add(Stage stage) noexcept { bits_ |= Bits{1} << static_cast<unsigned>(stage); }
  [[nodiscard]] constexpr bool has(Stage stage) const noexcept {
    return bits_ >> static_cast<unsigned>(stage) & 1U;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return bits_ == 0; }
  [[nodiscard]] constexpr bool several() const noexcept { return std::popcount(bits_) > 1; }
  /// Returns the last of them in the order in which stages act; `none` if the set is empty.
  [[nodiscard]] Stage last() const noexcept;
  /// Bit i stands for stage number i, also in ledgers.
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

/// Returns the names of the stages, in the order in which they act.
std::vector<std::string_view> names_of(StageSet stages);

/// What happens to a frame.
enum class Action : std::uint8_t {
  pass,   // leaves at once
  queue,  // leaves at `release`
  hold,   // leaves at `release`, but not before other frames have overtaken it
  wait,   // waits in its rule's queue; once it departs, the other stages decide when it leaves
  drop,
};

using RuleIndex = std::uint32_t;
/// The index for "no rule matched". Transit (transit.h) has 21 bits for a rule.
inline constexpr RuleIndex kUntouched = (1U << 21) - 1;
/// Largest number of rules of one direction.
inline constexpr std::size_t kMostRules = kUntouched;

/// Where a frame waits for its release: in one of the release queue's FIFOs, in each of which due
/// times never decrease, or in the wheel, which takes due times in any order.
using FifoIndex = std::uint16_t;
inline constexpr FifoIndex kWheel = 0xffff;

/// What an event does to its target packet.
enum class EventAction : std::uint8_t { drop, mark, corrupt, delay, duplicate };

std::string_view name_of(EventAction action) noexcept;

/// New values of some bits of a frame's DSCP and ECN; see roce::set_traffic_class().
struct TrafficClass {
  std::uint8_t mask = 0, value = 0;  // no mask: nothing changes
};

/// The decision about a frame.
struct Decision {
  Action action = Action::pass;
  Stage stage = Stage::none;  // the last stage that acted
  FifoIndex line = 0;         // for Action::queue and hold
  RuleIndex rule = kUntouched;
  // stages that did more than apply the rule's nominal delay; logged in the ledger
  StageSet acted = {};
  std::uint8_t copies = 0;                // number of copies to make, after corruption
  bool corrupt = false, mark = false;     // change the frame's bytes,
  TrafficClass rewrite = {};              // and so does this
  bool overtakes = false;                 // counts as overtaking a frame that its rule holds back
  EventAction aimed = EventAction::drop;  // if Stage::event acted: the event's action
  // For Action::queue and hold. For Action::wait: the release if nothing changes until then, and if
  // the delay is constant.
  Instant release = {};

  [[nodiscard]] bool edits() const noexcept { return corrupt || mark || rewrite.mask != 0; }
  void act(Stage by) noexcept {
    stage = by;
    acted.add(by);
  }
  void drop(Stage by) noexcept {
    action = Action::drop;
    act(by);
  }
};

/// Most copies of a frame by events; its rule may add Duplicate::kMostCopies.
inline constexpr std::uint8_t kMostEventCopies = 239;

/// The actions of events that target a frame, in addition to its rule's decision.
struct EventActions {
  bool drop = false, mark = false, corrupt = false;
  std::uint8_t copies = 0;
  Duration delay{};

  friend bool operator==(const EventActions&, const EventActions&) = default;
};

}  // namespace lw::emulator
