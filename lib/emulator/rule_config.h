// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/time.h"
#include "emulator/direction.h"
#include "emulator/match/match.h"
#include "emulator/stages/all.h"

namespace lw::emulator {

/// A rule as a profile describes it: which frames it is for, and the settings of its stages.
struct RuleConfig : Stages::Settings {
  std::string name = {};
  MatchConfig match = {};
  bool west_to_east = true, east_to_west = true;

  [[nodiscard]] bool applies(Direction direction) const noexcept {
    return direction == Direction::west_to_east ? west_to_east : east_to_west;
  }
  /// Not all frames take the nominal delay.
  [[nodiscard]] bool varies() const noexcept;
  /// Frames wait: for time, for the link, or for others.
  [[nodiscard]] bool delays() const noexcept;
  /// Frames' bytes are changed, so the rule needs frames that are not shared.
  [[nodiscard]] bool edits() const noexcept;
  /// Nothing but a delay, constant or drawn: the rule decides on whole batches.
  [[nodiscard]] bool acts_on_batch() const noexcept;
  /// Nothing but a constant delay and losses.
  [[nodiscard]] bool fits_short_path() const noexcept;
  /// Decisions depend only on a frame's number, length and time: it needs not be opened.
  [[nodiscard]] bool header_independent() const noexcept;
  /// Its queue honours pause frames, or sends them.
  [[nodiscard]] bool hears_pauses() const noexcept {
    return queue && queue->pfc && queue->pfc->honour;
  }
  [[nodiscard]] bool asks_for_pauses() const noexcept {
    return queue && queue->pfc && queue->pfc->emit;
  }
  friend bool operator==(const RuleConfig&, const RuleConfig&) = default;
};

/// A delay that hardly any frame of the rule exceeds from ingress to egress: for sizing buffers.
Duration ample_delay(const RuleConfig& rule) noexcept;

/// Memory that a rule's stages allocate per direction, in bytes: the buffer of an emulated queue.
std::uint64_t stage_bytes(const RuleConfig& rule) noexcept;

/// Reads the stages' keys of a [[rule]]: all keys except name, match, direction and delay.
void read_stages(const StageKeys& rule, RuleConfig& config);

/// A rule's stages with their parameters, in order: {"police", "20.00 Gb/s, bursts of 1.00 MB"}.
StageTexts stage_texts(const RuleConfig& rule);

}  // namespace lw::emulator
