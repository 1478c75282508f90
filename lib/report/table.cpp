// SPDX-License-Identifier: BSD-3-Clause
#include "report/table.h"

#include <algorithm>

#include <fmt/format.h>

namespace lw::report {
namespace {

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::size_t fill = width - std::min(width, width_of(cell));
  if (align == Align::right) line.append(fill, ' ');
  line.append(cell);
  if (align == Align::left) line.append(fill, ' ');
}

}  // namespace

std::size_t width_of(std::string_view text) noexcept {
  // Continuation bytes are not counted.
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string field = "\"";
  for (const char c : text) field.append(c == '"' ? 2 : 1, c);
  return field + '"';
}

std::string TextTable::to_string(std::size_t indent) const {
  std::vector<std::vector<std::string>> lines;
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  const bool titled = std::ranges::any_of(titles, [](const auto& t) { return !t.empty(); });
  if (titled) lines.push_back(std::move(titles));
  lines.insert(lines.end(), rows_.begin(), rows_.end());

  std::vector<std::size_t> widths(columns_.size());
  for (const auto& cells : lines) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(cells[i]));
    }
  }
  std::string text;
  for (const auto& cells : lines) {
    std::string line(indent, ' ');
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (i > 0) line.append("  ");
      append_cell(line, cells[i], widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).append("\n");
  }
  return text;
}

}  // namespace lw::report
