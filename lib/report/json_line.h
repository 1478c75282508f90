// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace lw::report {

/// Keys stay in the order in which they were set.
using Json = nlohmann::ordered_json;

/// One line with its newline. Bytes that aren't UTF-8 (a remark in a capture, a file's name)
/// become U+FFFD.
std::string json_line(const Json& value);

/// A line that begins with "schema" and "version": `schema` is "longwire.NAME", described in
/// lib/report/schemas/NAME.json. `object` is a JSON object. A change that readers must know of (a
/// key that goes or means something else) increases the version; a new key does not.
std::string json_line(std::string_view schema, const Json& object, int version = 1);

/// A string as JSON writes it, quotes included; for programs that write many lines by hand.
std::string json_string(std::string_view text);

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
  std::string line(const Json& row);

 private:
  std::string csv(const Json& row);

  RowStyle style_;
  std::string schema_;
  int version_;
  bool begun_ = false;
};

}  // namespace lw::report
