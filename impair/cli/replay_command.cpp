// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "impair/cli/command.h"
#include "impair/datapath/replay.h"

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
               "roce-impair: {}: {} frames came in that aren't in it, by the numbers of those that "
               "are: from there on draws and counts of frames aren't the run's\n",
               config.input.in, outcome->not_captured);
  if (outcome->damage) return print_error(*outcome->damage);
  return outcome->report.holds() ? ExitCode::done : ExitCode::failed;
}

}  // namespace

void add_replay_command(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* command = program.add_subcommand(
      "replay", "Put a capture through a profile in virtual time, exactly and repeatably");
  command->add_option("PROFILE", options->profile, "TOML file")->required();
  command->add_option("IN", options->replay.input.in, "capture to read, - for standard input")
      ->required();
  command
      ->add_option("OUT", options->replay.out,
                   "capture to write (.pcapng keeps interfaces), - for standard output")
      ->required();
  command->add_option("--seed", options->seed, "in place of the profile's");
  auto* direction =
      command->add_option("--direction", options->direction, "which way IN's frames go")
          ->check(CLI::IsMember({"west-to-east", "east-to-west"}))
          ->capture_default_str();
  auto* back = command
                   ->add_option("--back", options->replay.input.back,
                                "what came in at the other side meanwhile: both ways at once")
                   ->type_name("IN2");
  command
      ->add_flag("--both", options->replay.input.by_name,
                 "both ways at once, from a recording that --capture made: what came in by its "
                 "interfaces")
      ->excludes(direction)
      ->excludes(back);
  command->add_option("--ledger", options->replay.ledger,
                      "write the ledger: JSON Lines, or FILE.lwl, compact (see ledger)");
  command->add_option("--capture", options->replay.capture,
                      "FILE.pcapng: what came in and went out, with what was done to it");
  command->add_flag("--json", options->json, "the report as one JSON object");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace lw::impair
