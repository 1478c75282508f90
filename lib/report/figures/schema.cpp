// SPDX-License-Identifier: BSD-3-Clause
#include "report/figures/schema.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "core/output.h"
#include "core/verdict.h"

namespace lw::report {
namespace {

Json type_schema(const FigureType& type);

std::string_view unit_of(Unit unit) noexcept {
  constexpr std::array<std::string_view, 10> kTexts = {
      "", "frames", "bytes", "ns", "us", "s", "bits per second", "Mb/s", "Gb/s", "percent"};
  return kTexts[static_cast<std::size_t>(unit)];
}

void close(Json& object, Json required) {
  object["required"] = std::move(required);
  object["additionalProperties"] = false;
}

void allow_null(Json& type) {
  if (!type.is_array()) type = Json::array({type});
  type.push_back("null");
}

/// The schema of a figure under the name that it had before.
Json schema_of_old_name(const Figure& row, Json schema) {
  schema["description"] = fmt::format(
      "The value of {} under its name of release 0.1; the next release lacks it.", row.name);
  schema["deprecated"] = true;
  return schema;
}

/// Adds the rows of a table to the properties of an object, and to its required keys. `optional`:
/// the object may lack all of them.
void add_rows(Json& properties, Json& required, const FigureTable& table, bool optional = false) {
  for (const Figure& row : table.rows) {
    const bool left_out = optional || row.empty == Figure::Empty::left_out;
    if (row.name.empty()) {
      add_rows(properties, required, row.type->table(), left_out);
      continue;
    }
    const std::string key(row.name);
    Json schema = {{"description", description_of(row)}};
    if (row.unit != Unit::none) schema["unit"] = unit_of(row.unit);
    schema.update(type_schema(*row.type));
    if (!row.choices.empty()) schema["enum"] = row.choices;
    if (row.empty == Figure::Empty::null) allow_null(schema["type"]);
    if (!row.old_name.empty())
      properties[std::string(row.old_name)] = schema_of_old_name(row, schema);
    properties[key] = std::move(schema);
    if (!left_out && std::ranges::find(required, Json(key)) == required.end())
      required.push_back(key);
  }
}

Json object_schema(const FigureTable& table) {
  Json properties = Json::object(), required = Json::array();
  add_rows(properties, required, table);
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  close(schema, std::move(required));
  return schema;
}

/// The schema of a list's or map's values.
Json element_schema(const FigureType& type) {
  Json schema = Json::object();
  if (type.shape == FigureType::Shape::object && !type.table().meaning.empty())
    schema["description"] = type.table().meaning;
  schema.update(type_schema(type));
  return schema;
}

Json list_schema(const FigureType& type) {
  Json schema = {{"type", "array"}, {"items", element_schema(*type.element)}};
  if (type.length > 0) {
    schema["minItems"] = type.length;
    schema["maxItems"] = type.length;
  }
  return schema;
}

Json type_schema(const FigureType& type) {
  switch (type.shape) {
    using enum FigureType::Shape;
    case truth:
      return {{"type", "boolean"}};
    case integer:
      return {{"type", "integer"}};
    case natural:
      return {{"type", "integer"}, {"minimum", 0}};
    case number:
      return {{"type", "number"}};
    case text:
      return {{"type", "string"}};
    case field:
      return {{"type", {"integer", "string"}}};
    case json:
      return {{"type", "object"}};
    case figure:
      return {{"type", {"number", "boolean"}}};
    case object:
      return object_schema(type.table());
    case list:
      return list_schema(type);
    case map:
      return {{"type", "object"}, {"additionalProperties", element_schema(*type.element)}};
  }
  return {};
}

/// The figures of every output, before its own.
Json header_of(const JsonOutput& output) {
  return {{"schema",
           {{"description", "Name of this schema."},
            {"const", fmt::format("longwire.{}", output.name)}}},
          {"version",
           {{"description",
             "Version of this schema: increases when a key goes or changes its meaning."},
            {"const", output.version}}}};
}

}  // namespace

std::string description_of(const Figure& figure) {
  const bool counts =
      figure.unit == Unit::none || figure.unit == Unit::frames || figure.unit == Unit::bytes;
  const std::size_t end = std::min(figure.meaning.find(';'), figure.meaning.rfind('.'));
  if (counts || end == std::string_view::npos) return std::string(figure.meaning);
  return fmt::format("{}, in {}{}", figure.meaning.substr(0, end), unit_of(figure.unit),
                     figure.meaning.substr(end));
}

Json schema_of(const JsonOutput& output) {
  Json properties = header_of(output), required = {"schema", "version"};
  add_rows(properties, required, output.figures());
  if (output.judged) {
    properties["verdict"] = {{"description", "What was asked, and whether it holds."}};
    properties["verdict"].update(object_schema(Verdict::figures()));
    required.push_back("verdict");
  }
  Json schema = {
      {"$schema", "https://json-schema.org/draft/2020-12/schema"},
      {"$id", fmt::format("https://longwire.invalid/schemas/{}.json", output.name)},
      {"title", output.title},
      {"description", output.figures().meaning},
      {"type", "object"},
      {"properties", std::move(properties)},
  };
  close(schema, std::move(required));
  return schema;
}

Result<void> write_schemas(std::span<const JsonOutput> outputs,
                           std::span<const std::string> paths) {
  for (const std::string& path : paths) {
    const auto output =
        std::ranges::find(outputs, std::filesystem::path(path).stem().string(), &JsonOutput::name);
    if (output == outputs.end() || paths.size() != outputs.size())
      return fail(fmt::format("{}: expected a file for each of the {} outputs, found {} files",
                              path, outputs.size(), paths.size()));
    constexpr int kIndent = 2;
    if (auto written = write_file(path, schema_of(*output).dump(kIndent) + "\n"); !written)
      return written;
  }
  return {};
}

}  // namespace lw::report
