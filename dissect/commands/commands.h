// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "app/command_line.h"

namespace lw::dissect {

app::Command list_command();
app::Command verify_command();
app::Command summary_command();
app::Command compare_command();
app::Command fields_command();

/// --max-flows: bounds memory.
void add_flow_limit(app::Options& options, std::size_t& most_flows);
/// FILE..., one or more captures, and --filter.
void add_capture_options(app::Options& options, std::vector<std::string>& files,
                         std::string& filter);
/// How a report names what it read: "a.pcap", "a.pcap, b.pcap".
std::string names_of(const std::vector<std::string>& files);

}  // namespace lw::dissect
