// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"

namespace lw::app {

/// The command `profiles` of a program that takes profiles of these kinds: lists those that a bare
/// name finds (config/toml/profile_search.h).
Command profiles_command(const std::string& program, std::vector<std::string_view> kinds);

}  // namespace lw::app
