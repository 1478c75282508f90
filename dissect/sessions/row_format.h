// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "report/json_line.h"

namespace lw::dissect {

/// How a command writes its rows.
enum class RowStyle : std::uint8_t { text, json, csv };

/// Writes rows that all have the same keys as JSON lines, with "schema" and "version" first, or as
/// CSV with a header line. Arrays and objects in CSV are written as JSON.
class RowFormat {
 public:
  /// `schema`: "longwire.session".
  RowFormat(RowStyle style, std::string schema, int version = 1)
      : style_(style), schema_(std::move(schema)), version_(version) {}

  [[nodiscard]] RowStyle style() const noexcept { return style_; }
  /// One line, or two for the first CSV row. Not for text.
  std::string line(const report::Json& row);

 private:
  std::string csv(const report::Json& row);

  RowStyle style_;
  std::string schema_;
  int version_;
  bool begun_ = false;
};

}  // namespace lw::dissect
