// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "dissect/commands/commands.h"
#include "report/json_line.h"
#include "report/table.h"
#include "roce/describe.h"

namespace lw::dissect {
namespace {

void print_text() {
  report::Table table({{"field"}, {"bits", report::Align::right}, {"roce-gen key"}, {"meaning"}});
  for (const wire::FieldInfo& field : roce::header_fields()) {
    table.add_row({std::string(field.name), fmt::format("{}", field.bits), std::string(field.key),
                   std::string(field.help)});
  }
  print_out(table.to_string());
}

void print_json() {
  report::Json list = report::Json::array();
  for (const wire::FieldInfo& field : roce::header_fields()) {
    list.push_back(
        {{"name", field.name}, {"bits", field.bits}, {"key", field.key}, {"help", field.help}});
  }
  print_out(report::json_line(list));
}

}  // namespace

app::Command fields_command() {
  auto json = std::make_shared<bool>(false);
  app::Command command{
      .name = "fields",
      .help = "Print the header fields: name, width in bits, key in a roce-gen profile, meaning",
      .examples = "roce-dissect fields",
      .run =
          [json] {
            *json ? print_json() : print_text();
            return ExitCode::done;
          },
  };
  command.options.add_flag("--json", *json, "one JSON line");
  return command;
}

}  // namespace lw::dissect
