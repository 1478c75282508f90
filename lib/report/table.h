// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lw::report {

/// Returns `text` as one field of a CSV line, quoted where needed (RFC 4180).
std::string csv_field(std::string_view text);

/// Returns the number of characters of a UTF-8 text.
std::size_t width_of(std::string_view text) noexcept;

/// Alignment of a column's cells.
enum class Align : unsigned char { left, right };

/// A plain-text table. Columns are as wide as their widest cell, with two spaces between them; no
/// line ends with a space. Cells are UTF-8.
class TextTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  /// Without any titles there is no header line.
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// `cells` has one string per column.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  /// Returns the lines, each indented by `indent` spaces and ended by a newline.
  [[nodiscard]] std::string to_string(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lw::report
