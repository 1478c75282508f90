// SPDX-License-Identifier: BSD-3-Clause
#include "report/json_line.h"

#include <algorithm>

namespace lw::report {
namespace {

std::string dump(const Json& value) {
  constexpr int kOneLine = -1;
  constexpr bool kKeepUtf8 = false;
  return value.dump(kOneLine, ' ', kKeepUtf8, Json::error_handler_t::replace);
}

/// Most strings are names, numbers and addresses: nothing in them to escape.
bool is_plain(std::string_view text) noexcept {
  return std::ranges::all_of(
      text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
}

}  // namespace

std::string json_line(const Json& value) { return dump(value).append("\n"); }

std::string json_string(std::string_view text) {
  if (!is_plain(text)) return dump(Json(text));
  std::string quoted;
  quoted.reserve(text.size() + 2);
  return quoted.append("\"").append(text).append("\"");
}

}  // namespace lw::report
