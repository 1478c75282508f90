// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <span>

#include "config/impair/scenario.h"

namespace lw::impair {

/// Steps that are still to be taken, and when: a scenario's, at times since time 0, and commands',
/// at times of the clock. Time 0 is when the first frame comes in.
class Schedule {
 public:
  struct Item {
    config::ScenarioStep step;
    bool since_zero = true;  // step.at counts from time 0, else from the clock's epoch
    /// When it is due; nothing while time 0 is not known.
    [[nodiscard]] std::optional<Instant> due(std::optional<Instant> zero) const noexcept {
      if (!since_zero) return Instant{step.at};
      return zero ? std::optional(*zero + step.at) : std::nullopt;
    }
  };

  /// Replaces the scenario.
  void begin(std::span<const config::ScenarioStep> steps);
  /// Replaces the scenario by one that begins at `now`.
  void begin(std::span<const config::ScenarioStep> steps, Instant now);
  /// Adds the steps of a command that begins at `now`.
  void add(std::span<const config::ScenarioStep> steps, Instant now);

  /// Some step changes the state of a link.
  [[nodiscard]] bool changes_links() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return scenario_.size() + commands_.size(); }
  /// The next step; null when there is none. Steps that wait for time 0 come last.
  [[nodiscard]] const Item* next(std::optional<Instant> zero) const noexcept;
  /// Removes next().
  void pop(std::optional<Instant> zero) noexcept;

 private:
  [[nodiscard]] bool scenario_first(std::optional<Instant> zero) const noexcept;

  std::deque<Item> scenario_, commands_;  // each sorted by time
};

}  // namespace lw::impair
