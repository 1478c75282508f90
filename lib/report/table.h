// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace lw::report {

/// Where a column's cells stand.
enum class Align : unsigned char { left, right };

/// A table in plain text: columns as wide as their widest cell, two spaces between them, no line
/// with spaces at its end.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  /// Without any title there is no header line.
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  /// As many cells as columns.
  void add_row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }

  /// Lines, each begun with `indent` spaces and ended with a newline.
  [[nodiscard]] std::string to_string(std::size_t indent = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace lw::report
