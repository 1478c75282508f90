// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "config/toml/table.h"
#include "core/error.h"
#include "emulator/path.h"

namespace lw::config {

/// Reads a path's keys: name, rate, [[span]] and [[equipment]]; impair/README.md lists them.
/// `fallback_name` is the name of a path that has none.
emulator::Path read_path(const Table& table, std::string fallback_name);

/// Reads a file that holds one path. Errors (usage): every mistake with file, line and column.
Result<emulator::Path> load_path_profile(const std::string& file);
Result<emulator::Path> parse_path_profile(std::string_view text, std::string name);

}  // namespace lw::config
