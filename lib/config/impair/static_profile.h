// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "config/impair/profile.h"
#include "config/toml/table.h"
#include "emulator/rule_config.h"

namespace lw::config {

/// Reads a whole text file that a profile names, without a UTF-8 byte order mark. The name is
/// relative to `folder`.
Parsed<std::string> read_whole_file(const std::filesystem::path& folder, const FileName& name);

/// Reads a [[rule]]'s stages: all keys except its name, match and constant delay. Errors are
/// recorded in the table's document. Files are relative to `folder`.
void read_stages(const Table& rule, const std::filesystem::path& folder,
                 emulator::RuleConfig& config);

inline constexpr std::string_view kNoRuleUsesPath =
    "expected a rule with delay = \"path\", found none";

/// Error: there are more [[rule]]s than the emulator supports.
Parsed<void> check_rule_count(std::size_t count);

/// Converts a profile that is only a path to a [path] and the equivalent [[rule]], so that edits
/// can change that rule. Does nothing to other profiles.
void expand_path_alone(Document& document);

/// Reads a document without checking the changes that its scenario makes: `scenario` stays empty.
Result<ImpairProfile> read_static_profile(Document& document);

}  // namespace lw::config
