// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/impair/scenario.h"
#include "config/toml/document.h"
#include "core/error.h"
#include "emulator/events/event.h"
#include "emulator/path.h"
#include "emulator/rule_config.h"

namespace lw::config {

/// What the box must have room for: rate x delay bytes in each direction, in frames of at least
/// `smallest_frame`, each up to `largest_frame` (bytes without FCS).
struct Capacity {
  double rate_bps = 100e9;
  std::uint32_t smallest_frame = 1024;
  std::uint32_t largest_frame = 9600;
};

/// What roce-impair does to frames.
struct ImpairProfile {
  std::string name;
  std::uint64_t seed = 1;
  std::optional<emulator::Path> path;
  bool by_path = false;  // some rule's delay is the path's
  Capacity capacity;
  bool log_all = false;                     // every frame goes into the ledger
  std::vector<emulator::RuleConfig> rules;  // not empty where there are no events
  std::vector<emulator::EventConfig> events;
  std::vector<Act> acts;               // all that may happen,
  std::vector<ScenarioStep> scenario;  // and those at a time of their own, in its order
  Duration longest_later{};            // the longest delay that any of it brings

  /// What hardly any frame exceeds inside the box: the longest of the rules' delays, now or later.
  [[nodiscard]] Duration longest_delay() const noexcept;
  /// The same with what events may add for single frames: they take no room worth speaking of.
  [[nodiscard]] Duration longest_stay() const noexcept;
};

/// Reads a profile from a file, "-" for standard input. impair/README.md lists the keys. A path
/// that is named by its file is looked for beside the profile.
/// Errors (usage): every mistake with file, line and column, one a line.
Result<ImpairProfile> load_impair_profile(const std::string& file);
/// Edits are applied to the text, in their order, before it is read.
Result<ImpairProfile> parse_impair_profile(std::string_view text, std::string name,
                                           std::span<const Edit> edits = {});
/// The same without looking ahead: `scenario` is empty, and what it would bring is not validated.
Result<ImpairProfile> parse_settled_profile(std::string_view text, std::string name,
                                            std::span<const Edit> edits);

/// What a command brings, from now on: an act or an [[event]] by its name, or `table`, one that
/// stands in no profile ("event", "at", "protection", "flap").
struct Command {
  std::string name;
  std::string kind = {};
  std::optional<Value> table = {};
};
/// The command's steps, each validated on top of the profile as it is with these edits.
Result<std::vector<ScenarioStep>> steps_on_command(std::string_view text, std::string name,
                                                   std::span<const Edit> edits,
                                                   const Command& command);

}  // namespace lw::config
