// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/key_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/toml/document.h"

namespace lw::config {
namespace key_values_test {

using testing::ElementsAre;

std::vector<KeyValue> keys_of(std::string_view text) {
  return key_values(parse_toml(text, "x.toml").value(), {"at"});
}

std::vector<std::string> changes(std::string_view before, std::string_view after) {
  std::vector<std::string> lines;
  for (const KeyChange& one : differences(keys_of(before), keys_of(after)))
    lines.push_back(one.table + "|" + one.name + "|" + one.key + "|" + one.before + "|" +
                    one.after);
  return lines;
}

TEST(KeyValues, AValueThatDiffersIsNamedByTableNameAndKey) {
  EXPECT_THAT(changes("seed = 1\n[[rule]]\nname = \"a\"\ndelay = \"1ms\"\n",
                      "seed = 2\n[[rule]]\nname = \"a\"\ndelay = \"2ms\"\n"),
              ElementsAre("||seed|1|2", "rule|a|delay|\"1ms\"|\"2ms\""));
}

TEST(KeyValues, TheOrderOfTablesAndKeysDoesNotMatter) {
  EXPECT_THAT(changes("[[rule]]\nname = \"a\"\nloss = 0\n[[rule]]\nname = \"b\"\n",
                      "[[rule]]\nname = \"b\"\n[[rule]]\nloss = 0\nname = \"a\"\n"),
              ElementsAre());
}

TEST(KeyValues, InnerTablesHaveDotsHoweverTheyAreWritten) {
  EXPECT_THAT(changes("[[rule]]\nname = \"a\"\nqueue = { rate = \"1Gb/s\" }\n",
                      "[[rule]]\nname = \"a\"\nqueue.rate = \"1Gb/s\"\nqueue.pfc = true\n"),
              ElementsAre("rule|a|queue.pfc||true"));
}

TEST(KeyValues, ATableThatComesOrGoesHasEachOfItsKeys) {
  EXPECT_THAT(changes("[[rule]]\nname = \"a\"\nloss = 0.5\n", "[[rule]]\nloss = 0.25\n"),
              ElementsAre("rule|a|loss|0.5|", "rule|a|name|\"a\"|", "rule|rule0|loss||0.25"));
}

TEST(KeyValues, ValuesAreToml) {
  EXPECT_THAT(changes("", R"(x = "a\"\\\n" )"
                          "\ny = [1, 2.5, \"z\"]\nz = [{ a = true }, 1]\n"),
              ElementsAre(R"(||x||"a\"\\\u000A")", "||y||[1, 2.5, \"z\"]", "||z||[{a = true}, 1]"));
}

TEST(KeyValues, TablesLeftOutAreNotCompared) {
  EXPECT_THAT(changes("[[at]]\ntime = \"1s\"\n", ""), ElementsAre());
}

}  // namespace key_values_test
}  // namespace lw::config
