// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "gen/commands/commands.h"
#include "gen/commands/perf_options.h"
#include "gen/perf/report/plan.h"

namespace lw::gen {

void add_plan_command(CLI::App& program, Command& chosen) {
  CLI::App* command =
      program.add_subcommand("plan", "Say what fills a path, and what holds a transfer back");
  auto options = std::make_shared<PerfOptions>();
  auto json = std::make_shared<bool>(false);
  add_perf_options(command, *options);
  command->add_flag("--json", *json, "One line of JSON");
  command->footer(
      "Example:\n  roce-gen plan --path profiles/paths/apn-380km.toml --op read -s 64KiB -q 16");
  command->callback([&chosen, options, json] {
    chosen = [options, json] {
      const auto config = perf_config(*options);
      if (!config) return print_error(config.error());
      const Plan result = plan(*config);
      fmt::print("{}", *json ? plan_json(*config, result) : plan_text(*config, result));
      return ExitCode::done;
    };
  });
}

}  // namespace lw::gen
