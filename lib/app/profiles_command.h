// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "core/figure.h"

namespace lw::app {

/// The table of a row of `profiles`, of a config::NamedProfile.
const FigureTable& profile_figures();
inline constexpr JsonOutput kProfileOutput{
    .name = "profile",
    .title = "roce-gen profiles --json, roce-impair profiles --json",
    .figures = &profile_figures};

/// Makes the command `profiles` of a program that uses profiles of these kinds. It lists those that
/// can be given by name (config/toml/profile_search.h).
Command profiles_command(const std::string& program, std::vector<std::string_view> kinds);

}  // namespace lw::app
