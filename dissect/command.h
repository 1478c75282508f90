// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>

#include <CLI/CLI.hpp>

#include "app/print_error.h"

namespace lw::dissect {

// Each command adds itself to the command line; what it returns to the shell goes into `exit`.
void add_list(CLI::App& app, int& exit);
void add_verify(CLI::App& app, int& exit);
void add_summary(CLI::App& app, int& exit);
void add_compare(CLI::App& app, int& exit);

/// Prints the error; returns its exit code.
inline int report_error(const Error& error) { return to_int(print_error(error)); }

}  // namespace lw::dissect
