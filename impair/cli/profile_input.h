// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "config/impair/path_options.h"
#include "config/toml/document.h"
#include "core/error.h"

namespace lw::impair {

/// The profile that a command line names, and its changes: a file, or a path that options describe.
struct ProfileInput {
  std::string profile;               // a path, a bare name, or "-"; empty: `path` describes it
  std::vector<std::string> changes;  // values of --set
  config::PathOptions path = {};
  std::optional<std::string> saved;  // file for the profile that `path` describes

  /// The profile as the command line has it, for titles.
  [[nodiscard]] std::string title() const;
  /// Reads the file, or writes the text of `path`. Says on standard error what a bare distance
  /// leaves out. Errors: those of config::find_impair_profile() and config::profile_of().
  [[nodiscard]] Result<config::ProfileText> read() const;
  /// Writes `text` to `saved`, if it has a value.
  [[nodiscard]] Result<void> save(const config::ProfileText& text) const;
  /// Prints on standard error what the name of the profile stands for.
  void say(const config::ImpairProfile& found) const;
};

/// Adds PROFILE, which is required, and --set.
void add_profile(app::Options& list, ProfileInput& input);
/// Adds PROFILE, --set and the options of a path. The command's check must be check_input().
void add_profile_or_path(app::Options& list, ProfileInput& input);
/// Checks that the command line has PROFILE or options of a path, and not both.
Result<void> check_input(const ProfileInput& input, const app::Given& given);

}  // namespace lw::impair
