// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string_view>

#include <CLI/CLI.hpp>

#include "app/print_error.h"

namespace lw::gen {

/// What the command line asked for; runs once it is parsed.
using Command = std::function<ExitCode()>;

// Each adds a subcommand with its options to the program, and sets `chosen` when it is given.
void add_run_command(CLI::App& program, Command& chosen);
void add_receive_command(CLI::App& program, Command& chosen);
void add_replay_command(CLI::App& program, Command& chosen);
void add_search_command(CLI::App& program, Command& chosen);
void add_perf_command(CLI::App& program, Command& chosen);
void add_respond_command(CLI::App& program, Command& chosen);
void add_plan_command(CLI::App& program, Command& chosen);
void add_experiment_command(CLI::App& program, Command& chosen);
void add_check_command(CLI::App& program, Command& chosen);
void add_opcodes_command(CLI::App& program, Command& chosen);

}  // namespace lw::gen
