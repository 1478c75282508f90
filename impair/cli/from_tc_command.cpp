// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "config/impair/netem.h"
#include "core/output.h"
#include "impair/cli/commands.h"

namespace lw::impair {
namespace {

struct FromTcOptions {
  std::vector<std::string> words;
  std::string direction = "west-to-east";
};

/// Returns the folder with netem's distributions: TC_LIB_DIR, as tc does; the folder in which tc
/// searches if there are none.
std::string distribution_folder() {
  if (const char* const own = std::getenv("TC_LIB_DIR")) return own;
  for (const char* const folder : {"/usr/lib/tc", "/usr/lib/x86_64-linux-gnu/tc",
                                   "/usr/lib/aarch64-linux-gnu/tc", "/usr/lib64/tc"}) {
    std::error_code error;
    if (std::filesystem::exists(std::string(folder) + "/normal.dist", error)) return folder;
  }
  return "/usr/lib/tc";
}

ExitCode from_tc(const FromTcOptions& options) {
  const std::string text = fmt::format("{}", fmt::join(options.words, " "));
  const auto profile = config::profile_of_netem(
      text, {.direction = options.direction, .distributions = distribution_folder()});
  if (!profile) return print_error(profile.error());
  print_out(profile->toml);
  return ExitCode::done;
}

}  // namespace

app::Command from_tc_command() {
  auto options = std::make_shared<FromTcOptions>();
  app::Command command{
      .name = "from-tc",
      .help = "Print the profile that does what a netem qdisc of tc does",
      .examples = R"(roce-impair from-tc 'delay 100ms 10ms loss 1%' > profile.toml
roce-impair from-tc 'tc qdisc add dev eth1 root netem rate 10gbit delay 2ms')",
      .notes = R"(Comments in the profile name what it does otherwise than netem. What has no
equivalent is an error.)",
      .run = [options] { return from_tc(*options); },
  };
  command.options
      .add("NETEM", app::texts(options->words), "", "parameters of netem, in one word or several")
      .required();
  command.options.add("--direction",
                      app::choice(options->direction, {"west-to-east", "east-to-west", "both"}),
                      "DIRECTION", "direction of the rule; a qdisc acts on one");
  return command;
}

}  // namespace lw::impair
