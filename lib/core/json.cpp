// SPDX-License-Identifier: BSD-3-Clause
#include "core/json.h"

#include <nlohmann/json.hpp>

#include "core/limits.h"

namespace lw {
namespace {

bool is_too_deep(std::string_view text) noexcept {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      i += c == '\\' ? 1U : 0U;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepestJson) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text) {
  using Json = nlohmann::ordered_json;
  return is_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace lw
