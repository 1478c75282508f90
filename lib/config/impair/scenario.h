// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/toml/document.h"
#include "core/time.h"

namespace lw::config {

/// Ports whose link goes down, or comes back.
struct LinkChange {
  bool west = false, east = false;
  bool up = false;
  friend bool operator==(const LinkChange&, const LinkChange&) = default;
};

/// What happens at one instant: keys of the profile change, or links.
struct ScenarioStep {
  Duration at{};  // since time 0, or since the command
  std::string act;
  Position place;  // of the act in the profile
  std::vector<Edit> edits = {};
  std::optional<LinkChange> links = {};
};

/// An [[at]], a [[protection]] or a [[flap]]: steps at a time of its own, or on command.
struct Act {
  std::string kind, name;
  Position place;
  std::optional<Duration> time;  // none: on command only
  std::vector<ScenarioStep> steps = {};
  // Where `ramp` says in how many steps: keys go from what they are to their new values.
  std::uint32_t ramp = 0;
  Duration over{};
};

inline constexpr std::size_t kMostSteps = 10'000;

/// Reads every act; mistakes are noted in the table's document.
std::vector<Act> read_acts(const Table& root);

/// What an edit's key is by now; nothing where it isn't there.
using Present = std::function<std::optional<Value>(const Edit&)>;

/// An act's steps from `start` on. Mistakes (a ramp from nowhere) are noted in `mistakes`.
std::vector<ScenarioStep> steps_of(const Act& act, Duration start, const Present& present,
                                   Document& mistakes);

/// What lies `share` (0 to 1) of the way from one value to another, both of a kind that a profile
/// writes: times, rates, sizes, shares, numbers. Error: what was found instead.
Parsed<Value> between(const Value& from, const Value& to, double share);

}  // namespace lw::config
