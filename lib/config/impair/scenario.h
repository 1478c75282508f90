// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/toml/document.h"
#include "core/time.h"

namespace lw::config {

/// Ports whose link goes down or up.
struct LinkChange {
  bool west = false, east = false;
  bool up = false;
  friend bool operator==(const LinkChange&, const LinkChange&) = default;
};

/// Changes at one instant: of profile keys or links.
struct ScenarioStep {
  Duration at{};  // since time 0, or since the command
  std::string act;
  FilePosition place;  // of the act in the profile
  std::vector<Edit> edits = {};
  std::optional<LinkChange> links = {};
};

/// An [[at]], a [[protection]] or a [[flap]] of a profile.
struct Act {
  std::string kind, name;
  FilePosition place;
  std::optional<Duration> time;  // nullopt: starts on command only
  std::vector<ScenarioStep> steps = {};
  // A ramp of `ramp` equal steps over `over`, from the current to the new values; 0: no ramp.
  std::uint32_t ramp = 0;
  Duration over{};
};

/// All acts of a profile: versions of it share them, as changes never touch an act. Not null.
using Acts = std::shared_ptr<const std::vector<Act>>;

/// Reads all acts, with at most kMostSteps steps (config/limits.h). Errors are recorded in the
/// table's document.
std::vector<Act> read_acts(const Table& root);

/// Returns the current value of the key that an edit changes; nullopt if it is absent.
using Present = std::function<std::optional<Value>(const Edit&)>;

/// Returns an act's steps from `start` on. Records errors (a ramp without a first value) in
/// `document`.
std::vector<ScenarioStep> steps_of(const Act& act, Duration start, const Present& present,
                                   Document& document);

/// Interpolates between two values of one kind (times, rates, sizes, shares, numbers); `share` is
/// 0 to 1. Error: the kinds differ.
Parsed<Value> between(const Value& from, const Value& to, double share);

}  // namespace lw::config
