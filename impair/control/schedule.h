// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/impair/scenario.h"
#include "impair/report/report.h"

namespace lw::impair {

/// The remaining steps and their times. Times of a scenario count from time 0, the arrival of the
/// first frame. Times of commands are times of the clock.
class Schedule {
 public:
  struct Item {
    config::ScenarioStep step;
    bool since_zero = true;   // step.at counts from time 0; if false, from the clock's epoch
    std::string client = {};  // that gave the command; empty: of the scenario

    /// Who makes the change, for the change log.
    [[nodiscard]] std::string by() const {
      return (client.empty() ? "scenario" : client) + " \"" + step.act + "\"";
    }
    /// Returns the due time; nothing while time 0 is unknown.
    [[nodiscard]] std::optional<Instant> due(std::optional<Instant> zero) const noexcept {
      if (!since_zero) return Instant{step.at};
      return zero ? std::optional(*zero + step.at) : std::nullopt;
    }
  };

  /// Replaces the scenario by one that begins at time 0.
  void begin(std::span<const config::ScenarioStep> steps);
  /// Replaces the scenario by one that begins at `now`.
  void begin(std::span<const config::ScenarioStep> steps, Instant now);
  /// Adds the steps of a command of `client` that begins at `now`.
  void add(std::span<const config::ScenarioStep> steps, Instant now, const std::string& client);

  /// True if a step sets a link up or down.
  [[nodiscard]] bool changes_links() const noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return scenario_.size() + commands_.size(); }
  /// Number of the remaining steps of commands.
  [[nodiscard]] std::size_t of_commands() const noexcept { return commands_.size(); }
  /// Returns the next step; null if there is none. Steps that wait for time 0 come last.
  [[nodiscard]] const Item* next(std::optional<Instant> zero) const noexcept;
  /// Returns the acts, in order of their first step, of which steps were due at `by`.
  [[nodiscard]] std::vector<OverdueAct> overdue(std::optional<Instant> zero, Instant by) const;
  /// Removes next().
  void pop(std::optional<Instant> zero) noexcept;

 private:
  [[nodiscard]] bool scenario_first(std::optional<Instant> zero) const noexcept;

  std::deque<Item> scenario_, commands_;  // each sorted by time
};

}  // namespace lw::impair
