// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/random/correlated_draw.h"
#include "emulator/stage.h"

namespace lw::emulator {

struct DuplicateConfig {
  double probability = 0;
  std::uint8_t copies = 1;  // per selected frame, 1..Duplicate::kMostCopies
  double correlation = 0;   // see CorrelatedDraw
  friend bool operator==(const DuplicateConfig&, const DuplicateConfig&) = default;
  static const FigureTable& figures();
};

/// Sends frames more than once. Each copy passes the later stages independently.
class Duplicate {
 public:
  static constexpr Stage kNumber = Stage::duplicate;
  static constexpr std::string_view kName = "duplicate";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {Hook::number,   Hook::apply,    Hook::inherit, Hook::read,
                                     Hook::settings, Hook::describe, Hook::audit};
  static constexpr std::uint8_t kMostCopies = 16;
  static_assert(kMostCopies + kMostEventCopies <= 255, "Decision::copies has eight bits");

  struct Settings {
    std::optional<DuplicateConfig> duplicate = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    std::uint64_t duplicable = 0;  // frames that reached the stage
    void add(const Stats& other) noexcept { duplicable += other.duplicable; }
  };

  static bool present(const RuleConfig& rule) noexcept;
  Duplicate(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats) noexcept {
    ++stats.duplicable;
    if (!draw_.hit(chance_.bits(p.number))) return;
    p.decision.copies = static_cast<std::uint8_t>(p.decision.copies + copies_);
    p.decision.act(kNumber);
  }

  void inherit(Duplicate& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);

 private:
  std::uint8_t copies_;
  Chance chance_;
  CorrelatedDraw draw_;
};

}  // namespace lw::emulator
