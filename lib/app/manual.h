// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "app/command_line.h"

namespace lw::app {

/// Returns a man page of section 1 as roff: of the program, or of the command that `words` names,
/// including its subcommands. Error (usage): there is no such command.
Result<std::string> man_page(const Command& program, std::span<const std::string_view> words,
                             const BuildInfo& build);

}  // namespace lw::app
