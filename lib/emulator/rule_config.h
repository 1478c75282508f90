// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>

#include "core/time.h"
#include "emulator/direction.h"
#include "emulator/match/match.h"
#include "emulator/stages/bottleneck.h"
#include "emulator/stages/corrupt.h"
#include "emulator/stages/duplicate.h"
#include "emulator/stages/jitter.h"
#include "emulator/stages/loss_config.h"
#include "emulator/stages/mark.h"
#include "emulator/stages/police.h"
#include "emulator/stages/reorder.h"
#include "emulator/stages/trace.h"

namespace lw::emulator {

/// A rule as a profile says it: which frames, and each stage's parameters in the order in which
/// the stages stand. A stage that isn't given isn't there.
struct RuleConfig {
  std::string name;
  MatchConfig match = {};
  bool west_to_east = true, east_to_west = true;

  bool outage = false;  // the path is out: all of its frames are lost
  std::optional<PoliceConfig> police = {};
  LossConfig loss = 0.0;
  std::optional<CorruptConfig> corrupt = {};
  std::optional<DuplicateConfig> duplicate = {};
  std::optional<MarkConfig> mark = {};
  std::optional<BottleneckConfig> queue = {};
  std::optional<Duration> delay = {};  // the nominal one; none, and no jitter: passes at once
  std::optional<JitterConfig> jitter = {};
  std::optional<TraceConfig> trace = {};
  bool keep_order = true;  // where delays vary
  // After a change to a shorter delay frames may leave before those that came earlier.
  bool overtakes = false;
  std::optional<ReorderConfig> reorder = {};

  [[nodiscard]] bool applies(Direction direction) const noexcept {
    return direction == Direction::west_to_east ? west_to_east : east_to_west;
  }
  /// Frames don't all take the nominal delay.
  [[nodiscard]] bool varies() const noexcept { return queue || jitter || trace; }
  /// Its queue listens to pause frames, or sends them.
  [[nodiscard]] bool hears_pauses() const noexcept {
    return queue && queue->pfc && queue->pfc->honour;
  }
  [[nodiscard]] bool asks_for_pauses() const noexcept {
    return queue && queue->pfc && queue->pfc->emit;
  }
  /// Frames wait: for time, for the link, or for others.
  [[nodiscard]] bool delays() const noexcept { return delay || varies() || reorder; }
  /// Frames' bytes are changed, so no one else may hold them.
  [[nodiscard]] bool edits() const noexcept { return corrupt || mark; }
  friend bool operator==(const RuleConfig&, const RuleConfig&) = default;
};

/// What hardly any frame of the rule exceeds from coming in to going out: what room is made for.
Duration ample_delay(const RuleConfig& rule) noexcept;

}  // namespace lw::emulator
