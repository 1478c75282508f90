// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

namespace lw {
struct JsonOutput;
}

namespace lw::report {

/// JSON whose keys keep the order in which they were set.
using Json = nlohmann::ordered_json;

/// Returns one line with a newline. Bytes that aren't UTF-8 (in a capture's comment, or a file
/// name) become U+FFFD.
std::string json_line(const Json& value);

/// Returns a line that begins with the output's "schema" and "version"; `object` is a JSON object.
std::string json_line(const JsonOutput& output, const Json& object);

/// Returns a string as JSON, including quotes; for programs that write many lines without a Json
/// object.
std::string json_string(std::string_view text);
void append_json_string(std::string& out, std::string_view text);

/// Output format of a command's rows.
enum class RowStyle : std::uint8_t { text, json, csv };

/// Formats rows with equal keys: as JSON lines, with "schema" and "version" first, or as CSV with a
/// header line. CSV contains arrays and objects as JSON.
class RowFormat {
 public:
  RowFormat(RowStyle style, const JsonOutput& output) : style_(style), output_(output) {}

  [[nodiscard]] RowStyle style() const noexcept { return style_; }
  /// Returns one line, or two for the first row of CSV. Not for RowStyle::text.
  std::string line(const Json& row);

 private:
  std::string csv(const Json& row);

  RowStyle style_;
  const JsonOutput& output_;
  bool begun_ = false;
};

}  // namespace lw::report
