// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"
#include "emulator/stages/all.h"

namespace lw::emulator {

/// When a stage acts: for `length` from `begin` on, then again in each `period`. Outside, frames
/// pass as if the rule did not have the stage.
struct When {
  /// What `begin`, `length` and `period` count: the numbers of received frames of the direction, or
  /// nanoseconds since the rule's first frame.
  bool by_frames = false;
  std::int64_t begin = 0, length = 0;
  std::int64_t period = 0;  // 0: once

  [[nodiscard]] bool is_on(std::int64_t place) const noexcept {
    place -= begin;
    if (place < 0) return false;
    return (period > 0 ? place % period : place) < length;
  }
  friend bool operator==(const When&, const When&) = default;
};

/// The schedules of a rule's stages, by their place in Stages.
struct Schedules {
  std::array<std::optional<When>, Stages::kCount> of = {};

  template <class S>
  [[nodiscard]] const std::optional<When>& stage() const noexcept {
    return of[Stages::index_of<S>()];
  }
  [[nodiscard]] bool any() const noexcept;
  friend bool operator==(const Schedules&, const Schedules&) = default;
};

class StageKeys;
struct RuleConfig;

/// Reads a rule's key `when`: {loss = {every = "1s", for = "10ms", from = "2s"}}, with times or
/// with numbers of frames. Requires that the stages are read.
void read_schedules(const StageKeys& rule, RuleConfig& config);
/// "for 10 ms of every 1 s, from 2 s after the first frame on".
std::string text_of(const When& when);

}  // namespace lw::emulator
