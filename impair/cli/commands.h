// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/command_line.h"
#include "app/expectations.h"
#include "app/html_report.h"
#include "config/impair/profile.h"

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
  bool live = false;                   // show the live view
  app::Expectations expectations = {};
  app::HtmlReport html = {};
};

/// PROFILE and --set.
struct ProfileOptions {
  std::string profile;               // a path, a bare name, or "-"
  std::vector<std::string> changes;  // of --set
};
void add_profile_options(app::Options& list, ProfileOptions& options);

/// --seed, --ledger, --capture, --json, --live, --expect, --junit and --html, which `run` and
/// `replay` share.
void add_output_options(app::Options& list, std::optional<std::uint64_t>& seed,
                        OutputOptions& output);

/// --dry-run.
void add_dry_run(app::Options& list, bool& dry_run);

/// A port or file that a run would open; not listed if the name is empty.
struct PlannedUse {
  std::string what, name;
};
/// Prints what --dry-run shows: what would be opened, and the profile in words.
ExitCode print_plan(std::string_view command, const config::ImpairProfile& profile,
                    const std::vector<PlannedUse>& uses, bool json);

}  // namespace lw::impair
