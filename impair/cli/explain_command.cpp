// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/output.h"
#include "impair/cli/commands.h"
#include "impair/report/explanation.h"
#include "report/figures/json.h"

namespace lw::impair {
namespace {

struct ExplainOptions {
  ProfileOptions source;
  bool json = false;
};

ExitCode explain(const ExplainOptions& options) {
  const auto profile = config::load_impair_profile(options.source.profile, options.source.changes);
  if (!profile) return print_error(profile.error());
  print_out(options.json ? report::json_line(kExplanationOutput, *profile)
                         : explanation_text(*profile));
  return ExitCode::done;
}

}  // namespace

app::Command explain_command() {
  auto options = std::make_shared<ExplainOptions>();
  app::Command command{
      .name = "explain",
      .help = "Print in words what a profile does",
      .examples = "roce-impair explain profiles/impair/apn-380km.toml",
      .run = [options] { return explain(*options); },
  };
  add_profile_options(command.options, options->source);
  command.options.add_flag("--json", options->json, "print one JSON object");
  return command;
}

}  // namespace lw::impair
