// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "config/toml/profile_search.h"
#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/measure_options.h"
#include "gen/report/preview.h"
#include "gen/tx/ports.h"
#include "report/figures/json.h"

namespace lw::gen {
namespace {

struct CheckOptions {
  std::string profile;
  std::vector<std::string> changes;  // values of --set
  std::vector<std::string> ports;
  std::uint64_t frames = 8;
  bool json = false;
};

/// Returns how each port paces its frames: by the device if it can, otherwise by this program.
Result<PortPacings> pacings_of(const std::vector<std::string>& names) {
  PortPacings pacings;
  if (names.empty()) return pacings;
  auto ports = Ports::open(names, false,
                           {.port = {.timed_sending = true}, .sends_flows = false, .cores = 1});
  if (!ports) return std::unexpected(ports.error());
  for (const nic::Port& port : ports->all()) {
    pacings.push_back({port.name(), port.timed_sending().has_value()});
  }
  return pacings;
}

ExitCode check(const CheckOptions& options) {
  const auto profile = config::load_flow_profile(options.profile, options.changes);
  if (!profile) return print_error(profile.error());
  const auto pacings = pacings_of(options.ports);
  if (!pacings) return print_error(pacings.error());
  const Preview preview = preview_of(*profile, options.frames, *pacings);
  print_out(options.json ? report::json_line(kFlowCheckOutput, preview) : to_text(preview));
  return ExitCode::done;
}

}  // namespace

app::Command check_command() {
  auto options = std::make_shared<CheckOptions>();
  app::Command command{
      .name = "check",
      .help = "Print what a profile would send",
      .examples = "roce-gen check demo --frames 20",
      .run = [options] { return check(*options); },
  };
  app::Options& list = command.options;
  list.add("PROFILE", app::profile(options->profile, {config::kFlowProfiles}), "",
           "flow profile; - for standard input")
      .required();
  add_set_option(list, options->changes);
  list.add("--port", app::texts(options->ports), "PORT",
           "port to open; prints who paces its frames, the device or this program; sends nothing");
  list.add("--frames", app::number(options->frames), "N", "number of frames to print");
  list.add_flag("--json", options->json, "print one line of JSON");
  return command;
}

}  // namespace lw::gen
