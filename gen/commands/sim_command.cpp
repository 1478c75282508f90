// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "app/stop_signal.h"
#include "config/toml/profile_search.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/network_perf.h"
#include "gen/network/network_description.h"
#include "gen/network/network_drawing.h"
#include "gen/network/network_report.h"
#include "gen/questions.h"

namespace lw::gen {
namespace {

constexpr const char* kSimExamples =
    R"(roce-gen sim fat-tree-16 --draw fat-tree.svg
roce-gen sim long-haul-pfc-380km --duration 20ms -s 64KiB)";

/// The options of `roce-gen sim`.
struct SimCommand {
  PerfOptions options;
  NetworkOptions network;
  app::Verdicts verdicts{kPerfQuestions};
  app::HtmlReport html;
  std::string series, pcap, drawing;
  std::vector<std::string> points;
  bool json = false;
};

/// Describes the network and draws it, without a run.
ExitCode draw(const SimCommand& command) {
  constexpr bool kWithPath = false;
  const auto perf = perf_config(command.options, kWithPath);
  if (!perf) return print_error(perf.error());
  const auto file = load_network(command.network.network, *perf);
  if (!file) return print_error(file.error());
  if (const auto apart =
          check_outputs({{"NETWORK", command.network.network}}, {{"--draw", command.drawing}});
      !apart)
    return print_error(apart.error());
  if (const auto written = write_file(command.drawing, network_svg(*file)); !written)
    return print_error(written.error());
  print_report(describe_network(*file, *perf));
  return ExitCode::done;
}

Result<void> check(const app::Given& given, const SimCommand& command) {
  if (given.has("--draw") && given.has("--duration"))
    return fail("--draw: goes without --duration: --html has the network with its use");
  return command.verdicts.check(kNetworkOutput);
}

}  // namespace

app::Command sim_command() {
  auto options = std::make_shared<SimCommand>();
  app::Command command{
      .name = "sim",
      .help = "Simulate hosts, switches and links, as perf --sim --network; or draw them",
      .examples = kSimExamples,
      .check = [options](const app::Given& given) { return check(given, *options); },
      .run =
          [options] {
            if (!options->drawing.empty()) return draw(*options);
            const std::atomic<bool>& stop = stop_on_signals();
            return perf_on_network(options->network, options->options,
                                   {options->verdicts, options->html, options->json,
                                    options->series, options->pcap, options->points},
                                   stop);
          },
  };
  app::Options& list = command.options;
  list.add("NETWORK", app::profile(options->network.network, {config::kNetworkProfiles}), "",
           "hosts, switches and links, and what the hosts send")
      .required();
  list.add("--draw", app::text(options->drawing), "FILE.svg",
           "draw the network into this file, print its links and the headroom of PFC, and run "
           "nothing");
  add_sampling_options(list, options->network);
  add_perf_options(list, options->options);
  add_run_options(list, options->options);
  list.add("--series", app::text(options->series), "FILE.csv", "a line per port and sample");
  list.add("--pcap", app::text(options->pcap), "FILE", "capture of what ports send");
  list.add("--pcap-at", app::texts(options->points), "POINT", "port to capture at: FROM:TO");
  options->verdicts.add_options(list);
  options->verdicts.add_strict_option(list);
  options->html.add_option(list);
  list.add_flag("-J,--json", options->json, "print one line of JSON");
  return command;
}

}  // namespace lw::gen
