// SPDX-License-Identifier: BSD-3-Clause
#include "app/profiles_command.h"

#include <memory>

#include "config/toml/profile_search.h"
#include "core/output.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::app {
namespace {

struct ListOptions {
  std::vector<std::string> kinds;
  bool json = false;
};

void print_list(const std::vector<config::NamedProfile>& list, bool json) {
  report::Table table({{"name"}, {"kind"}, {"description"}});
  report::RowFormat rows(report::RowStyle::json, "longwire.profile");
  for (const auto& [name, kind, path, description] : list) {
    if (json)
      print_out(rows.line(
          {{"name", name}, {"kind", kind}, {"path", path}, {"description", description}}));
    table.add_row({name, kind, description});
  }
  if (!json) print_out(table.to_string());
}

}  // namespace

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
