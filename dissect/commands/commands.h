// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "app/command_line.h"

namespace lw::dissect {

app::Command list_command();
app::Command verify_command();
app::Command summary_command();
app::Command compare_command();
app::Command fields_command();

/// --max-flows: bounds memory.
void add_flow_limit(app::Options& options, std::size_t& most_flows);
/// FILE, one capture, and --filter.
void add_capture_options(app::Options& options, std::string& file, std::string& filter);

}  // namespace lw::dissect
