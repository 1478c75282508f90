// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace lw::report {

/// Keys stay in the order in which they were set.
using Json = nlohmann::ordered_json;

/// One line with its newline. Bytes that aren't UTF-8 (a remark in a capture, a file's name)
/// become U+FFFD.
std::string json_line(const Json& value);

/// A string as JSON writes it, quotes included; for programs that write many lines by hand.
std::string json_string(std::string_view text);

}  // namespace lw::report
