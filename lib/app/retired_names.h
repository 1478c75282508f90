// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"

namespace lw::app {

/// Returns the words of a command line with each retired name of a command or option replaced by
/// the name in use, and prints a note about it on standard error. Words after "--" stay.
std::vector<std::string> with_names_in_use(const Command& program,
                                           std::span<const std::string_view> words);

}  // namespace lw::app
