// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"

namespace lw::app {

/// Makes the command `profiles` of a program that uses profiles of these kinds. It lists those that
/// can be given by name (config/toml/profile_search.h).
Command profiles_command(const std::string& program, std::vector<std::string_view> kinds);

}  // namespace lw::app
