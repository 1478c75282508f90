// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

#include <CLI/CLI.hpp>

#include "core/error.h"

namespace lw::dissect {

// Each command adds itself to the command line; what it returns to the shell goes into `exit`.
void add_list(CLI::App& app, int& exit);
void add_verify(CLI::App& app, int& exit);
void add_summary(CLI::App& app, int& exit);
void add_compare(CLI::App& app, int& exit);

/// Says the error on standard error, behind what was printed so far, and gives its exit code.
int report_error(const Error& error);

}  // namespace lw::dissect
