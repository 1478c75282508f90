// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "core/time.h"
#include "emulator/stages/stage.h"

namespace lw::emulator {

enum class Action : std::uint8_t {
  pass,   // goes on at once
  queue,  // goes on at `release`
  hold,   // the same, but not before others have overtaken it
  drop,
};

using RuleIndex = std::uint16_t;
/// "No rule matched": the frame is none of our business.
inline constexpr RuleIndex kUntouched = 0xffff;

/// Where a frame waits for its release: one of the release queue's lines, on each of which due
/// times never fall, or the wheel, where they come as they like.
using LineIndex = std::uint16_t;
inline constexpr LineIndex kWheel = 0xffff;

/// What an event does to the packet that it is aimed at.
enum class EventAction : std::uint8_t { drop, mark, corrupt, delay, duplicate };

std::string_view name_of(EventAction action) noexcept;

/// What becomes of a frame.
struct Decision {
  Action action = Action::pass;
  Stage stage = Stage::none;  // the last one that acted
  RuleIndex rule = kUntouched;
  LineIndex line = 0;       // for Action::queue and hold
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
