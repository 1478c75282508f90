// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <CLI/CLI.hpp>

#include "gen/commands/perf_options.h"

namespace lw::gen {

/// Adds --transport: which service a QP of perf's is of.
void add_transport_option(CLI::App* command, transport::QpConfig& config);

/// Refuses what UC and UD don't have, as CLI11's usage errors, each with what to do instead.
/// `answered`: the pattern wants each message answered, or all sizes are asked for.
void check_transport(const PerfOptions& options, bool answered);

}  // namespace lw::gen
