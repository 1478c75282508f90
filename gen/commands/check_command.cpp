// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "gen/commands/commands.h"
#include "gen/run/preview.h"

namespace lw::gen {
namespace {

struct CheckOptions {
  std::string profile;
  std::uint64_t frames = 8;
  bool json = false;
};

ExitCode check(const CheckOptions& options) {
  const auto profile = profile::load_flow_profile(options.profile);
  if (!profile) return complain(profile.error());
  fmt::print("{}", options.json ? preview_json(*profile, options.frames)
                                : preview_text(*profile, options.frames));
  return ExitCode::done;
}

}  // namespace

void add_check_command(CLI::App& program, Command& chosen) {
  CLI::App* command = program.add_subcommand("check", "Say what a profile would send");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("profile", options->profile, "The profile; - is standard input")
      ->required()
      ->type_name("PROFILE");
  command->add_option("--frames", options->frames, "How many of the first frames to show")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", options->json, "One line of JSON");
  command->footer("Example:\n  roce-gen check profiles/flows/demo.toml --frames 20");
  command->callback([&chosen, options] { chosen = [options] { return check(*options); }; });
}

}  // namespace lw::gen
