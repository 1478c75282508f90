// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace lw::config {

/// Refuses a TOML text that is longer, nested deeper or has more items than a profile may
/// (config/limits.h): the parser would need too much stack, memory or time. Reads the text once,
/// aware of strings and comments; whether it is valid TOML is left to the parser. `name` is its
/// name in the error (usage), which has the position.
Result<void> check_bounds(std::string_view text, const std::string& name);

}  // namespace lw::config
