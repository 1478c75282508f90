// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "dissect/commands/commands.h"
#include "dissect/fields/fields.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

std::string bits_of(const Field& field) {
  return field.bits == 0 ? "" : fmt::format("{}", field.bits);
}

void print_text() {
  report::Table table(
      {{"field"}, {"type"}, {"bits", report::Align::right}, {"roce-gen key"}, {"meaning"}});
  for (const Field& field : field_table()) {
    table.add_row({std::string(field.name), std::string(name_of(field.type)), bits_of(field),
                   std::string(field.key), std::string(field.help)});
  }
  print_out(table.to_string());
}

void print_json() {
  report::Json list = report::Json::array();
  for (const Field& field : field_table()) {
    list.push_back({{"name", field.name},
                    {"type", name_of(field.type)},
                    {"bits", field.bits},
                    {"key", field.key},
                    {"help", field.help}});
  }
  print_out(report::json_line(list));
}

}  // namespace

app::Command fields_command() {
  auto json = std::make_shared<bool>(false);
  app::Command command{
      .name = "fields",
      .help = "Print all fields: name, type, width in bits, key in a roce-gen profile, meaning",
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
