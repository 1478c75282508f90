// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace lw::report {

/// JSON whose keys keep the order in which they were set.
using Json = nlohmann::ordered_json;

/// Returns one line with a newline. Bytes that aren't UTF-8 (in a capture's comment, or a file
/// name) become U+FFFD.
std::string json_line(const Json& value);

/// Returns a line that begins with "schema" and "version". `schema` is "longwire.NAME", the name of
/// a JsonOutput (core/figure.h); `object` is a JSON object. A change that breaks readers (a
/// removed key, or a key with another meaning) increases the version; a new key does not.
std::string json_line(std::string_view schema, const Json& object, int version = 1);

/// Returns a string as JSON, including quotes; for programs that write many lines without a Json
/// object.
std::string json_string(std::string_view text);

/// Output format of a command's rows.
enum class RowStyle : std::uint8_t { text, json, csv };

/// Formats rows with equal keys: as JSON lines, with "schema" and "version" first, or as CSV with a
/// header line. CSV contains arrays and objects as JSON.
class RowFormat {
 public:
  /// `schema`: such as "longwire.session".
  RowFormat(RowStyle style, std::string schema, int version = 1)
      : style_(style), schema_(std::move(schema)), version_(version) {}

  [[nodiscard]] RowStyle style() const noexcept { return style_; }
  /// Returns one line, or two for the first row of CSV. Not for RowStyle::text.
  std::string line(const Json& row);

 private:
  std::string csv(const Json& row);

  RowStyle style_;
  std::string schema_;
  int version_;
  bool begun_ = false;
};

}  // namespace lw::report
