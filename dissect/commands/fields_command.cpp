// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "dissect/commands/commands.h"
#include "dissect/commands/outputs.h"
#include "dissect/fields/fields.h"
#include "report/figures/json.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

std::string bits_of(const Field& field) {
  return field.bits == 0 ? "" : fmt::format("{}", field.bits);
}

void print_text() {
  report::TextTable table(
      {{"field"}, {"type"}, {"bits", report::Align::right}, {"roce-gen key"}, {"meaning"}});
  for (const Field& field : field_table()) {
    table.add_row({std::string(field.name), std::string(name_of(field.type)), bits_of(field),
                   std::string(field.key), std::string(field.help)});
  }
  print_out(table.to_string());
}

void print_rows(report::RowStyle style) {
  report::RowFormat rows(style, kFieldOutput);
  for (const Field& field : field_table()) {
    print_out(rows.line(report::json_of(field_figures(), &field)));
  }
}

struct FieldsOptions {
  bool json = false, csv = false;
};

ExitCode run_fields(const FieldsOptions& options) {
  if (!options.json && !options.csv) {
    print_text();
  } else {
    print_rows(options.json ? report::RowStyle::json : report::RowStyle::csv);
  }
  return ExitCode::done;
}

}  // namespace

const FigureTable& field_figures() {
  using Row = FigureOf<Field>;
  static constexpr Figure kRows[] = {
      Row::of<&Field::name>("name", "Name of the field, as in Wireshark."),
      Row::of<&Field::type>("type", "Type."),
      Row::of<&Field::bits>("bits", "Width, in bits; 0 if it has none."),
      Row::of<&Field::key>("key", "Key in a roce-gen profile; empty without one."),
      Row::of<&Field::help>("help", "Meaning.")};
  static constexpr FigureTable kTable{"A field that list can print; a line each.", kRows};
  return kTable;
}

app::Command fields_command() {
  auto options = std::make_shared<FieldsOptions>();
  app::Command command{
      .name = "fields",
      .help = "Print all fields: name, type, width in bits, key in a roce-gen profile, meaning",
      .examples = "roce-dissect fields",
      .run = [options] { return run_fields(*options); },
  };
  command.options.add_flag("--json", options->json, "a line of JSON per field");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
}

}  // namespace lw::dissect
