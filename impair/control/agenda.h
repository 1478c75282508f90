// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <span>

#include "config/impair/scenario.h"

namespace lw::impair {

/// What a run still has to do, and when: its scenario's steps, since time 0, and those of commands,
/// by the clock. Time 0 is when the first frame comes in.
class Agenda {
 public:
  struct Item {
    config::ScenarioStep step;
    bool since_zero = true;  // step.at counts from time 0; else from the clock's own origin
    /// When it is due; nothing as long as time 0 isn't known.
    [[nodiscard]] std::optional<Instant> due(std::optional<Instant> zero) const noexcept {
      if (!since_zero) return Instant{step.at};
      return zero ? std::optional(*zero + step.at) : std::nullopt;
    }
  };

  /// A scenario, in place of the one before.
  void begin(std::span<const config::ScenarioStep> steps);
  /// The same for one that begins at `now`, whenever frames come.
  void begin(std::span<const config::ScenarioStep> steps, Instant now);
  /// A command's steps, from `now` on.
  void add(std::span<const config::ScenarioStep> steps, Instant now);

  /// Links are still to go down, or to come back.
  [[nodiscard]] bool changes_links() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return scenario_.size() + commands_.size(); }
  /// The next one; null where nothing is left. What waits for time 0 comes last.
  [[nodiscard]] const Item* next(std::optional<Instant> zero) const noexcept;
  /// Takes next() away.
  void pop(std::optional<Instant> zero) noexcept;

 private:
  [[nodiscard]] bool scenario_first(std::optional<Instant> zero) const noexcept;

  std::deque<Item> scenario_, commands_;  // each rising
};

}  // namespace lw::impair
