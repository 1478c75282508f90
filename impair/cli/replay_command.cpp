// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "impair/cli/command.h"
#include "impair/cli/replay.h"
#include "impair/report/report_json.h"
#include "impair/report/report_text.h"

namespace lw::impair {
namespace {

struct Options {
  std::string profile;
  ReplayConfig replay;
  std::string direction = "west-to-east";
  std::optional<std::uint64_t> seed;
  bool json = false;
};

ExitCode run(const Options& options) {
  const auto profile = LiveProfile::load(options.profile, options.seed);
  if (!profile) return print_error(profile.error());
  ReplayConfig config = options.replay;
  if (options.direction == "east-to-west")
    config.input.direction = emulator::Direction::east_to_west;
  const auto outcome = replay(*profile, config);
  if (!outcome) return print_error(outcome.error());
  // The capture itself may be on standard output.
  std::FILE* out = options.replay.out == "-" ? stderr : stdout;
  if (options.json) {
    auto json = to_json(outcome->report);
    if (outcome->not_captured) json["not_captured"] = outcome->not_captured;
    fmt::print(out, "{}\n", json.dump());
  } else {
    fmt::print(out, "{}", to_text(outcome->report));
  }
  if (outcome->not_captured)
    fmt::print(stderr,
               "{}: {} received frames are missing in it, by the numbers of the others: from the "
               "first of them, draws and frame counts differ from the run's\n",
               config.input.in, outcome->not_captured);
  if (outcome->damage) return print_error(*outcome->damage);
  return outcome->report.holds() ? ExitCode::done : ExitCode::failed;
}

}  // namespace

app::Command replay_command() {
  auto options = std::make_shared<Options>();
  app::Command command{
      .name = "replay",
      .help = "Pass a capture through a profile in virtual time, exactly and repeatably",
      .examples =
          R"(roce-impair replay profiles/impair/apn-380km.toml in.pcap out.pcap --seed 7
roce-impair replay profiles/impair/apn-380km.toml west.pcap out.pcapng --back east.pcap
roce-impair replay profiles/impair/apn-380km.toml recorded.pcapng out.pcapng --both)",
      .run = [options] { return run(*options); },
  };
  app::Options& list = command.options;
  list.add("PROFILE", app::text(options->profile), "", "impair profile").required();
  list.add("IN", app::text(options->replay.input.in), "", "capture to read; - for standard input")
      .required();
  list.add("OUT", app::text(options->replay.out), "",
           "capture to write (.pcapng keeps interfaces); - for standard output")
      .required();
  list.add("--seed", app::number(options->seed), "N", "random seed, instead of the profile's");
  list.add("--direction", app::choice(options->direction, {"west-to-east", "east-to-west"}),
           "DIRECTION", "direction of IN's frames");
  list.add("--back", app::text(options->replay.input.back), "IN2",
           "capture of the other side in the same time: both directions at once");
  list.add_flag("--both", options->replay.input.by_name,
                "both directions at once, from the ingress interfaces of a --capture recording")
      .excludes("--direction")
      .excludes("--back");
  list.add("--ledger", app::text(options->replay.ledger), "FILE",
           "ledger to write: JSON Lines, or FILE.lwl, compact (see ledger)");
  list.add("--capture", app::text(options->replay.capture), "FILE.pcapng",
           "recording of ingress and egress frames, with the stages that acted on them");
  list.add_flag("--json", options->json, "report as one JSON object");
  return command;
}

}  // namespace lw::impair
