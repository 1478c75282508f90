// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "config/toml/table.h"
#include "core/error.h"
#include "emulator/path.h"

namespace lw::config {

/// Reads a path: name, rate, [[span]] and [[equipment]]; docs/reference/impair-profile.md lists the
/// keys. `fallback_name` is the default name.
emulator::Path read_path(const Table& table, std::string fallback_name);

/// Reads a file that describes one path. `only`: of the remote client that named it; `file` is then
/// not searched for. Errors (usage): with file, line and column.
Result<emulator::Path> load_path_profile(const std::string& file,
                                         const ClientFiles* only = nullptr);
Result<emulator::Path> parse_path_profile(std::string_view text, std::string name);

}  // namespace lw::config
