// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>

#include <fmt/format.h>

#include "core/output.h"
#include "impair/cli/commands.h"
#include "impair/cli/profile_input.h"
#include "impair/report/explanation.h"
#include "report/figures/json.h"

namespace lw::impair {
namespace {

struct ExplainOptions {
  ProfileInput source;
  bool json = false;
};

ExitCode explain(const ExplainOptions& options) {
  const auto text = options.source.read();
  if (!text) return print_error(text.error());
  const auto profile = config::read_impair_profile(*text, options.source.changes);
  if (!profile) return print_error(profile.error());
  print_out(options.json ? report::json_line(kExplanationOutput, *profile)
                         : explanation_text(*profile));
  const auto saved = options.source.save(*text);
  return saved ? ExitCode::done : print_error(saved.error());
}

}  // namespace

app::Command explain_command() {
  auto options = std::make_shared<ExplainOptions>();
  app::Command command{
      .name = "explain",
      .help = "Print in words what a profile does",
      .examples = R"(roce-impair explain apn-380km
roce-impair explain --distance 380km --loss 0.1% --save path.toml)",
      .check = [options](const app::Given& given) { return check_input(options->source, given); },
      .run = [options] { return explain(*options); },
  };
  add_profile_or_path(command.options, options->source);
  command.options.add_flag("--json", options->json, "print one JSON object");
  return command;
}

}  // namespace lw::impair
