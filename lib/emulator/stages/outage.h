// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "emulator/stage.h"

namespace lw::emulator {

/// Interrupts the path: loses every frame of the rule.
class Outage {
 public:
  static constexpr Stage kNumber = Stage::outage;
  static constexpr std::string_view kName = "outage";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = false;
  static constexpr HookSet kHooks = {Hook::number, Hook::apply, Hook::describe, Hook::report};

  struct Settings {
    bool outage = false;
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    void add(const Stats& /*other*/) noexcept {}
  };

  static bool present(const RuleConfig& rule) noexcept;
  Outage(const RuleConfig& /*rule*/, const StageSetup& /*setup*/) noexcept {}
  void apply(Passage& p, Stats& /*stats*/) const noexcept { p.decision.drop(kNumber); }

  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void report(const RuleStats& stats, StageLines& lines);
};

}  // namespace lw::emulator
