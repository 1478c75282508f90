// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/time.h"
#include "emulator/direction.h"
#include "emulator/match/match.h"
#include "emulator/stages/all.h"
#include "emulator/when.h"

namespace lw::emulator {

/// A rule as a profile describes it: the frames it matches, and the settings of its stages.
struct RuleConfig : Stages::Settings {
  std::string name = {};
  MatchConfig match = {};
  bool west_to_east = true, east_to_west = true;
  Schedules when = {};

  [[nodiscard]] bool applies(Direction direction) const noexcept {
    return direction == Direction::west_to_east ? west_to_east : east_to_west;
  }
  /// True if delays differ between frames.
  [[nodiscard]] bool varies() const noexcept;
  /// True if frames wait: for a time, for the link, or for other frames.
  [[nodiscard]] bool delays() const noexcept;
  /// True if bytes of frames are changed, so that frames must not be shared.
  [[nodiscard]] bool edits() const noexcept;
  /// True if the rule has only a delay, constant or random, or a queue and a constant delay, so
  /// that it can decide about whole batches.
  [[nodiscard]] bool acts_on_batch() const noexcept;
  /// True if the rule has only a constant delay and losses.
  [[nodiscard]] bool fits_short_path() const noexcept;
  /// True if a stage acts on frames when they leave the queue.
  [[nodiscard]] bool acts_on_leaving() const noexcept;
  /// True if only a constant delay is behind the rule's queue: see Rule::knows_release().
  [[nodiscard]] bool knows_release() const noexcept;
  /// True if the rule has only a queue and a constant delay.
  [[nodiscard]] bool fits_queue_path() const noexcept;
  /// True if decisions depend only on a frame's number, length and time, so that frames needn't be
  /// opened.
  [[nodiscard]] bool header_independent() const noexcept;
  /// True if the rule's queue obeys pause frames, or sends them.
  [[nodiscard]] bool hears_pauses() const noexcept {
    const PauseConfig* const pfc = pauses();
    return pfc && pfc->honour;
  }
  [[nodiscard]] bool asks_for_pauses() const noexcept {
    const PauseConfig* const pfc = pauses();
    return pfc && pfc->emit;
  }
  /// The pauses of the rule's queue, or of its class; null without.
  [[nodiscard]] const PauseConfig* pauses() const noexcept {
    if (shared) return shared->pfc();
    return queue && queue->pfc ? &*queue->pfc : nullptr;
  }
  friend bool operator==(const RuleConfig&, const RuleConfig&) = default;
};

/// A delay that almost no frame of the rule exceeds from ingress to egress: for sizing buffers.
Duration ample_delay(const RuleConfig& rule) noexcept;

/// Memory that a rule's stages allocate per direction, in bytes: the buffer of an emulated queue.
std::uint64_t stage_bytes(const RuleConfig& rule) noexcept;

/// Reads the stages' keys of a [[rule]]: all keys except name, match, direction and delay.
void read_stages(const StageKeys& rule, RuleConfig& config);

/// Rows of a rule's settings by stage, those that are rows (core/figure.h): "police", "reorder".
const FigureTable& rule_settings();

/// A rule's stages with their parameters, in order: {"police", "20.00 Gb/s, bursts of 1.00 MB"}.
StageTexts stage_texts(const RuleConfig& rule);

}  // namespace lw::emulator
