// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_line.h"
#include "app/html_report.h"
#include "app/verdicts.h"
#include "config/impair/profile.h"
#include "core/figure.h"
#include "core/output.h"
#include "impair/report/run_verdict.h"

namespace lw::impair {

app::Command check_command();
app::Command ctl_command();
app::Command explain_command();
app::Command from_tc_command();
app::Command ledger_command();
app::Command replay_command();
app::Command run_command();

/// Outputs of a run or a replay. Without a value, an output is not written.
struct OutputOptions {
  std::optional<std::string> ledger = {};   // JSON Lines; binary if the name ends in .lwl
  std::optional<std::string> capture = {};  // pcapng file of frames in and out
  Rotation rotation = {};                   // of the capture
  bool json = false;                        // print the report as JSON
  bool live = false;                        // show the live view
  app::Verdicts verdicts{kImpairQuestions};
  app::HtmlReport html = {};
};

/// Adds the options that `run` and `replay` share: --seed, --ledger, --pcap, --json, --live,
/// --rotate, --ring, --expect, --junit, --strict-machine and --html.
void add_output_options(app::Options& list, std::optional<std::uint64_t>& seed,
                        OutputOptions& output);
/// Error (usage): options that need another one.
Result<void> check_output_options(const OutputOptions& output);

/// Adds --dry-run.
void add_dry_run(app::Options& list, bool& dry_run);

/// The ports and files that a run would open; empty: none.
struct PlannedUses {
  std::string west = {}, east = {}, duration = {}, in = {}, back = {}, out = {}, ledger = {},
              capture = {}, control = {}, metrics = {};

  static const FigureTable& figures();
};
/// What --dry-run prints: the command, the ports and files that it would open, and its profile.
struct DryRun {
  std::string_view command;
  const config::ImpairProfile& profile;
  PlannedUses uses;

  static const FigureTable& figures();
};
inline constexpr JsonOutput kDryRunOutput{.name = "dry_run",
                                          .title = "roce-impair run and replay --dry-run --json",
                                          .figures = &DryRun::figures};
/// Prints the output of --dry-run: the ports and files that would be opened, and the profile in
/// words.
ExitCode print_plan(const DryRun& plan, bool json);

}  // namespace lw::impair
