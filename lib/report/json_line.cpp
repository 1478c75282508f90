// SPDX-License-Identifier: BSD-3-Clause
#include "report/json_line.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/figure.h"
#include "report/table.h"

namespace lw::report {
namespace {

std::string dump(const Json& value) {
  constexpr int kOneLine = -1;
  constexpr bool kKeepUtf8 = false;
  return value.dump(kOneLine, ' ', kKeepUtf8, Json::error_handler_t::replace);
}

/// Returns true if nothing must be escaped, as in most names, numbers and addresses.
bool is_plain(std::string_view text) noexcept {
  return std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

std::string cell_of(const Json& value) {
  if (value.is_null()) return {};
  return csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string json_line(const Json& value) { return dump(value).append("\n"); }

std::string json_line(const JsonOutput& output, const Json& object) {
  Json line = {{"schema", fmt::format("longwire.{}", output.name)}, {"version", output.version}};
  line.update(object);
  return json_line(line);
}

std::string json_string(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted;
}

void append_json_string(std::string& out, std::string_view text) {
  if (!is_plain(text)) {
    out += dump(Json(text));
    return;
  }
  out += '"';
  out += text;
  out += '"';
}

std::string RowFormat::line(const Json& row) {
  if (style_ == RowStyle::csv) return csv(row);
  return json_line(output_, row);
}

std::string RowFormat::csv(const Json& row) {
  std::string header, cells;
  for (const auto& [key, value] : row.items()) {
    if (!header.empty()) {
      header += ',';
      cells += ',';
    }
    header += csv_field(key);
    cells += cell_of(value);
  }
  std::string text = begun_ ? std::string() : header + "\n";
  begun_ = true;
  return text + cells + "\n";
}

}  // namespace lw::report
