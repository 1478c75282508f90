// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/sessions/row_format.h"

#include "report/table.h"

namespace lw::dissect {
namespace {

std::string cell_of(const report::Json& value) {
  if (value.is_null()) return {};
  return report::csv_field(value.is_string() ? value.get<std::string>() : value.dump());
}

}  // namespace

std::string RowFormat::line(const report::Json& row) {
  if (style_ == RowStyle::csv) return csv(row);
  report::Json line;
  line["schema"] = schema_;
  line["version"] = version_;
  line.update(row);
  return report::json_line(line);
}

std::string RowFormat::csv(const report::Json& row) {
  std::string header, cells;
  for (const auto& [key, value] : row.items()) {
    if (!header.empty()) {
      header += ',';
      cells += ',';
    }
    header += report::csv_field(key);
    cells += cell_of(value);
  }
  std::string text = begun_ ? std::string() : header + "\n";
  begun_ = true;
  return text + cells + "\n";
}

}  // namespace lw::dissect
