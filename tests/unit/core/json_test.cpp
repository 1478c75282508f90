// SPDX-License-Identifier: BSD-3-Clause
#include "core/json.h"

#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/limits.h"

namespace lw {
namespace json_test {

std::string nested(char open, char close, std::size_t depth) {
  std::string text;
  for (std::size_t i = 0; i < depth; ++i) text += open == '{' ? R"({"a":)" : "[";
  text += "1";
  return text.append(depth, close);
}

TEST(ParseJson, RefusesDeepNesting) {
  for (const auto& [open, close] : {std::pair('{', '}'), std::pair('[', ']')}) {
    EXPECT_FALSE(parse_json(nested(open, close, kDeepestJson)).is_discarded());
    EXPECT_TRUE(parse_json(nested(open, close, kDeepestJson + 1)).is_discarded());
    EXPECT_TRUE(parse_json(nested(open, close, 1'000'000)).is_discarded());
  }
  EXPECT_TRUE(parse_json(std::string(1'000'000, '[')).is_discarded());
}

TEST(ParseJson, CountsNoBracketsInStrings) {
  const std::string text = "\\\\\\\"" + std::string(100, '[');
  const auto json = parse_json("{\"a\": \"" + text + "\", \"b\": [[]]}");
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["a"].get<std::string>().size(), 102u);
}

TEST(ParseJson, RefusesOtherText) {
  for (const char* text : {"", "{", "nul", "[1,]", "{\"a\":1}x", "\xff", "]"})
    EXPECT_TRUE(parse_json(text).is_discarded()) << text;
}

}  // namespace json_test
}  // namespace lw
