// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "app/command_line.h"

namespace lw::impair {

app::Command check_command();
app::Command ctl_command();
app::Command explain_command();
app::Command from_tc_command();
app::Command ledger_command();
app::Command replay_command();
app::Command run_command();

/// Where a run or a replay writes; nothing: not written.
struct OutputOptions {
  std::optional<std::string> ledger;   // JSON Lines, or binary for a name that ends in .lwl
  std::optional<std::string> capture;  // pcapng file of what comes in and goes out
  bool json = false;                   // the report as JSON
};

/// --seed, --ledger, --capture and --json, which `run` and `replay` share.
void add_output_options(app::Options& list, std::optional<std::uint64_t>& seed,
                        OutputOptions& output);

}  // namespace lw::impair
