// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/commands/commands.h"
#include "report/json_line.h"
#include "report/table.h"
#include "wire/opcode.h"

namespace lw::gen {
namespace {

std::string_view rule_text(wire::PayloadRule rule) {
  switch (rule) {
    case wire::PayloadRule::none:
      return "none";
    case wire::PayloadRule::full:
      return "the MTU";
    case wire::PayloadRule::rest:
      return "1..MTU";
    case wire::PayloadRule::any:
      return "0..MTU";
    case wire::PayloadRule::eight:
      return "8";
    case wire::PayloadRule::cnp_zeros:
      return "16 zeros";
  }
  return "";
}

std::vector<std::string> header_names(const wire::OpcodeInfo& info) {
  std::vector<std::string> names = {"BTH"};
  for (int bit = 0; bit < wire::kExtensions; ++bit) {
    if (info.extensions.has_bit(bit)) names.emplace_back(wire::extension_name(bit));
  }
  return names;
}

void print_text() {
  report::Table table({{"opcode"}, {"name"}, {"role"}, {"payload"}, {"headers"}});
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    table.add_row({fmt::format("0x{:02x}", info.opcode), std::string(info.name),
                   std::string(name_of(info.role)), std::string(rule_text(info.payload)),
                   fmt::format("{}", fmt::join(header_names(info), " "))});
  }
  print_out(table.to_string());
}

void print_json() {
  report::RowFormat rows(report::RowStyle::json, "longwire.opcode");
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    print_out(rows.line({{"opcode", info.opcode},
                         {"name", info.name},
                         {"transport", name_of(info.transport)},
                         {"operation", name_of(info.operation)},
                         {"position", name_of(info.position)},
                         {"role", name_of(info.role)},
                         {"payload", rule_text(info.payload)},
                         {"headers", header_names(info)}}));
  }
}

}  // namespace

app::Command opcodes_command() {
  auto json = std::make_shared<bool>(false);
  app::Command command{
      .name = "opcodes",
      .help = "Print every opcode that can be sent",
      .examples = "roce-gen opcodes | grep ATOMIC",
      .run =
          [json] {
            *json ? print_json() : print_text();
            return ExitCode::done;
          },
  };
  command.options.add_flag("--json", *json, "print one line of JSON per opcode");
  return command;
}

}  // namespace lw::gen
