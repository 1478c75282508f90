// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "config/toml/table.h"
#include "core/error.h"
#include "roce/class_settings.h"

namespace lw::config {

/// Reads `[class]` of a profile; an empty class without that table. docs/reference/traffic-class.md
/// lists the keys. A mark of kinds is a value, "data=26,cnp=48", or a table: {data = 26, cnp = 48}.
roce::ClassOfTraffic read_traffic_class(const Table& root);

/// Reads a profile of a class from a file, or a shipped one by its name. Errors (usage): a line per
/// error, with file, line and column; no `[class]`.
Result<roce::ClassOfTraffic> load_traffic_class(const std::string& file);
Result<roce::ClassOfTraffic> parse_traffic_class(std::string_view text, std::string name);

}  // namespace lw::config
