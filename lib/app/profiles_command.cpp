// SPDX-License-Identifier: BSD-3-Clause
#include "app/profiles_command.h"

#include <memory>

#include "config/toml/profile_search.h"
#include "core/output.h"
#include "report/figures/json.h"
#include "report/table.h"

namespace lw::app {
namespace {

struct ListOptions {
  std::vector<std::string> kinds;
  bool json = false;
};

void print_list(const std::vector<config::NamedProfile>& list, bool json) {
  report::TextTable table({{"name"}, {"kind"}, {"description"}});
  for (const config::NamedProfile& profile : list) {
    if (json) print_out(report::json_line(kProfileOutput, profile));
    table.add_row({profile.name, profile.kind, profile.description});
  }
  if (!json) print_out(table.to_string());
}

}  // namespace

const FigureTable& profile_figures() {
  using config::NamedProfile;
  using Row = FigureOf<NamedProfile>;
  static constexpr Figure kRows[] = {
      Row::of<&NamedProfile::name>("name", "Name to give a command."),
      Row::of<&NamedProfile::kind>("kind", "Folder of profiles/."),
      Row::of<&NamedProfile::path>("path", "Path of the file."),
      Row::of<&NamedProfile::description>("description", "First comment of the file.")};
  static constexpr FigureTable kTable{"A profile that a bare name finds; a line each.", kRows};
  return kTable;
}

Command profiles_command(const std::string& program, std::vector<std::string_view> kinds) {
  auto options = std::make_shared<ListOptions>();
  std::vector<std::string> names(kinds.begin(), kinds.end());
  Command command{
      .name = "profiles",
      .help = "List the profiles that a bare name finds",
      .examples = program + " profiles\n" + program + " profiles --json | jq -r .path",
      .notes =
          R"(They are looked for in the working directory, its profiles/, the folders of $LONGWIRE_PROFILES
(separated by colons), ~/.config/longwire, and the folder of the installation.)",
      .run =
          [options, kinds = std::move(kinds)] {
            std::vector<std::string_view> wanted(options->kinds.begin(), options->kinds.end());
            print_list(config::list_profiles(wanted.empty() ? kinds : wanted), options->json);
            return ExitCode::done;
          },
  };
  command.options.add("--kind", choices(options->kinds, std::move(names)), "KIND",
                      "only profiles of this kind: a folder of profiles/");
  command.options.add_flag("--json", options->json,
                           "print one line of JSON per profile, with its path");
  return command;
}

}  // namespace lw::app
