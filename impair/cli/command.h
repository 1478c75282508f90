// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "app/print_error.h"

namespace lw::impair {

/// What main does once the command line is understood.
using Command = std::function<ExitCode()>;

/// Each adds its subcommand to `program`, and puts what it does into `chosen` when it is chosen.
void add_check_command(CLI::App& program, Command& chosen);
void add_ctl_command(CLI::App& program, Command& chosen);
void add_ledger_command(CLI::App& program, Command& chosen);
void add_replay_command(CLI::App& program, Command& chosen);
void add_run_command(CLI::App& program, Command& chosen);

}  // namespace lw::impair
