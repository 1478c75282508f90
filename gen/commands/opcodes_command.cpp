// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>

#include <fmt/format.h>

#include "core/output.h"
#include "gen/commands/commands.h"
#include "gen/commands/outputs.h"
#include "report/figures/json.h"
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
  report::TextTable table({{"opcode"}, {"name"}, {"role"}, {"payload"}, {"headers"}});
  for (const wire::OpcodeInfo& info : wire::all_opcodes()) {
    table.add_row({fmt::format("0x{:02x}", info.opcode), std::string(info.name),
                   std::string(name_of(info.role)), std::string(rule_text(info.payload)),
                   fmt::format("{}", fmt::join(header_names(info), " "))});
  }
  print_out(table.to_string());
}

void print_json() {
  for (const wire::OpcodeInfo& info : wire::all_opcodes())
    print_out(report::json_line(kOpcodeOutput, info));
}

}  // namespace

const FigureTable& opcode_figures() {
  using wire::OpcodeInfo;
  using Row = FigureOf<OpcodeInfo>;
  static constexpr Figure kRows[] = {
      Row::of<&OpcodeInfo::opcode>("opcode", "Opcode of the BTH."),
      Row::of<&OpcodeInfo::name>("name", "Name."),
      Row::of<&OpcodeInfo::transport>("transport", "Transport."),
      Row::of<&OpcodeInfo::operation>("operation", "Operation."),
      Row::of<&OpcodeInfo::position>("position",
                                     "Place in the message: FIRST, MIDDLE, LAST or ONLY."),
      Row::of<&OpcodeInfo::role>("role", "request or response."),
      Row::of<[](const OpcodeInfo& info) { return rule_text(info.payload); }>(
          "payload", "Rule for the payload."),
      Row::of<header_names>("headers", "Headers, in order.")};
  static constexpr FigureTable kTable{"An opcode that can be sent; a line each.", kRows};
  return kTable;
}

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
