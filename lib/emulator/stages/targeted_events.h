// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "emulator/stage.h"

namespace lw::emulator {

/// Applies the events that target one frame (see emulator/events), whatever its rule is. Delays by
/// events happen outside the stages, after the last.
class TargetedEvents {
 public:
  static constexpr Stage kNumber = Stage::event;
  static constexpr std::string_view kName = "event";
  static constexpr bool kActsOnBatch = true;  // no event targets frames of a batch
  static constexpr bool kMayPause = false;
  static constexpr HookSet kHooks = {Hook::number, Hook::apply, Hook::fits_short_path};

  struct Settings {
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    void add(const Stats& /*other*/) noexcept {}
  };

  static bool present(const RuleConfig& /*rule*/) noexcept { return true; }
  static bool fits_short_path(const RuleConfig& /*rule*/) noexcept { return true; }
  TargetedEvents(const RuleConfig& /*rule*/, const StageSetup& /*setup*/) noexcept {}

  void apply(Passage& p, Stats& /*stats*/) const noexcept {
    if (p.aimed == EventActions{}) return;
    if (p.aimed.drop) return p.decision.drop(kNumber);
    p.decision.act(kNumber);
    p.decision.aimed = primary(p.aimed);
    p.decision.corrupt = p.aimed.corrupt;
    p.decision.copies = p.aimed.copies;
    p.decision.mark = p.aimed.mark;
  }

 private:
  /// Returns the action that the ledger names if there are several on one frame.
  static EventAction primary(const EventActions& aimed) noexcept {
    if (aimed.corrupt) return EventAction::corrupt;
    if (aimed.copies > 0) return EventAction::duplicate;
    return aimed.mark ? EventAction::mark : EventAction::delay;
  }
};

}  // namespace lw::emulator
