// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "gen/commands/commands.h"
#include "gen/report/preview.h"
#include "gen/tx/ports.h"

namespace lw::gen {
namespace {

struct CheckOptions {
  std::string profile;
  std::vector<std::string> ports;
  std::uint64_t frames = 8;
  bool json = false;
};

/// Who keeps the time at which each port's frames leave: the device, where it offers to, and
/// otherwise this program.
Result<PortPacings> pacings_of(const std::vector<std::string>& names) {
  PortPacings pacings;
  if (names.empty()) return pacings;
  auto ports = Ports::open(names, false,
                           {.port = {.timed_sending = true}, .sends_flows = false, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  for (const nic::Port& port : ports->all()) {
    pacings.push_back({port.name(), port.is_timed() && port.timed_sending().has_value()});
  }
  return pacings;
}

ExitCode check(const CheckOptions& options) {
  const auto profile = config::load_flow_profile(options.profile);
  if (!profile) return print_error(profile.error());
  const auto pacings = pacings_of(options.ports);
  if (!pacings) return print_error(pacings.error());
  fmt::print("{}", options.json ? preview_json(*profile, options.frames, *pacings)
                                : preview_text(*profile, options.frames, *pacings));
  return ExitCode::done;
}

}  // namespace

void add_check_command(CLI::App& program, Command& chosen) {
  CLI::App* command = program.add_subcommand("check", "Say what a profile would send");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("profile", options->profile, "The profile; - is standard input")
      ->required()
      ->type_name("PROFILE");
  command
      ->add_option("--port", options->ports,
                   "Open this port, and say who would pace its frames: the device or this program")
      ->type_name("PORT");
  command->add_option("--frames", options->frames, "How many of the first frames to show")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", options->json, "One line of JSON");
  command->footer("Example:\n  roce-gen check profiles/flows/demo.toml --frames 20");
  command->callback([&chosen, options] { chosen = [options] { return check(*options); }; });
}

}  // namespace lw::gen
