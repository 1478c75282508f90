// SPDX-License-Identifier: BSD-3-Clause
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "app/invocation.h"
#include "app/verdicts.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/plan/plan.h"
#include "gen/questions.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

struct PlanOptions {
  PerfOptions perf;
  app::Verdicts verdicts{kPlanQuestions};
  bool json = false;
};

/// Returns the command that simulates what this one plans.
std::string simulation() {
  std::string command = "roce-gen sim";
  const std::vector<std::string>& words = app::this_invocation().words;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const bool judged = words[i].starts_with("--expect") || words[i].starts_with("--junit");
    if (judged && !words[i].contains('=')) ++i;  // its value
    if (!judged && words[i] != "--json") command += " " + app::quoted_for_shell(words[i]);
  }
  return command;
}

ExitCode print_plan(PlanOptions& options) {
  const auto config = perf_config(options.perf);
  if (!config) return print_error(config.error());
  say_path(options.perf);
  app::Verdicts& verdicts = options.verdicts;
  if (auto checked = verdicts.check(kPlanOutput); !checked) return print_error(checked.error());
  if (auto apart = check_outputs({{"--path", options.perf.path}}, {verdicts.junit()}); !apart)
    return print_error(apart.error());
  const Plan result = plan(*config);
  Judge judge = verdicts.judge();
  observe_plan(judge, result);
  const std::string json = verdicts.judged(
      judge, options.json,
      [&] { return report::json_line(kPlanOutput, PlanReport{*config, result}); }, "roce-gen plan",
      &kPlanOutput);
  print_out(options.json ? json : verdicts.text() + plan_text(*config, result, simulation()));
  return verdicts.finish("roce-gen plan");
}

}  // namespace

app::Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  app::Command command{
      .name = "plan",
      .help = "Print what fills a path, and what limits a transfer",
      .examples = "roce-gen plan --path apn-380km --op read -s 64KiB -q 16",
      .run = [options] { return print_plan(*options); },
  };
  add_transfer_options(command.options, options->perf);
  add_path_options(command.options, options->perf);
  options->verdicts.add_options(command.options);
  command.options.add_flag("--json", options->json, "print one line of JSON");
  return command;
}

}  // namespace lw::gen
