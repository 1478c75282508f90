// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/perf/options/perf_options.h"
#include "gen/perf/report/plan.h"

namespace lw::gen {
namespace {

struct PlanOptions {
  PerfOptions perf;
  bool json = false;
};

ExitCode print_plan(const PlanOptions& options) {
  const auto config = perf_config(options.perf);
  if (!config) return print_error(config.error());
  const Plan result = plan(*config);
  print_out(options.json ? plan_json(*config, result) : plan_text(*config, result));
  return ExitCode::done;
}

}  // namespace

app::Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  app::Command command{
      .name = "plan",
      .help = "Print what fills a path, and what limits a transfer",
      .examples = "roce-gen plan --path profiles/paths/apn-380km.toml --op read -s 64KiB -q 16",
      .run = [options] { return print_plan(*options); },
  };
  add_perf_options(command.options, options->perf);
  command.options.add_flag("--json", options->json, "print one line of JSON");
  return command;
}

}  // namespace lw::gen
