// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/experiment/profile.h"

namespace lw::config {
namespace experiment_profile_test {

using testing::HasSubstr;
using testing::SizeIs;

std::string refusal(const std::string& text) {
  const auto profile = parse_experiment_profile(text, "x.toml");
  return profile ? "" : profile.error().message;
}

TEST(ExperimentProfile, EveryShippedOneLoads) {
  const auto folder =
      std::filesystem::path(std::getenv("LONGWIRE_SOURCE")) / "profiles" / "experiments";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const auto profile = load_experiment_profile(entry.path().string());
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_FALSE(profile->scenarios.empty()) << entry.path();
    EXPECT_FALSE(profile->title.empty()) << entry.path();
  }
  EXPECT_GE(count, 3);
}

TEST(ExperimentProfile, AScenarioHasCommonParametersAndItsOwn) {
  const auto profile = parse_experiment_profile(R"([common]
op = "write"
size = "4KiB"
[[scenario]]
[scenario.set]
qps = [1, 2]
size = ["1KiB", "2KiB"]
adaptive = true
)",
                                                "folder/x.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->name, "x");
  ASSERT_THAT(profile->scenarios, SizeIs(1));
  const ExperimentParameters& parameters = profile->scenarios[0].parameters;
  ASSERT_THAT(parameters, SizeIs(4));
  EXPECT_EQ(parameters[0].name, "op");
  EXPECT_EQ(parameters[1].name, "size");
  ASSERT_THAT(parameters[1].values, SizeIs(2));
  EXPECT_EQ(parameters[1].values[1].text, "2KiB");
  EXPECT_EQ(parameters[2].name, "qps");
  EXPECT_EQ(parameters[2].values[1].text, "2");
  EXPECT_EQ(parameters[3].values[0].text, "true");
  EXPECT_EQ(parameters[3].values[0].at, (FilePosition{8, 12}));
}

TEST(ExperimentProfile, FilesAreLookedForBesideIt) {
  const auto profile = parse_experiment_profile(
      "[[scenario]]\n[scenario.set]\npath = \"../paths/a.toml\"\n[scenario.compare]\n"
      "table = \"t.csv\"\nrows = {a = \"b\"}\n[[scenario.compare.column]]\npublished = \"p\"\n"
      "ours = \"o\"\nwithin = \"2%\"\n",
      "one/two/x.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->scenarios[0].parameters[0].values[0].text, "one/paths/a.toml");
  EXPECT_EQ(profile->scenarios[0].compare->table, "one/two/t.csv");
  EXPECT_EQ(profile->scenarios[0].compare->columns[0].within, 0.02);
}

TEST(ExperimentProfile, MistakesHavePlaces) {
  EXPECT_THAT(refusal(""), HasSubstr("x.toml:1:1: expected at least one [[scenario]]"));
  EXPECT_THAT(refusal("[[scenario]]\nrepeats = 0\n"), HasSubstr("x.toml:2:11: repeats:"));
  EXPECT_THAT(refusal("[[scenario]]\nrepaets = 1\n"), HasSubstr("x.toml:2:1: "));
  EXPECT_THAT(refusal("[[scenario]]\n[scenario.set]\nsize = []\n"), HasSubstr("x.toml:3:8: size:"));
  EXPECT_THAT(refusal("[[scenario]]\n[scenario.set]\nsize = {}\n"), HasSubstr("x.toml:3:8: size:"));
  EXPECT_THAT(refusal("[[scenario]]\nname = \"a\"\n[[scenario]]\nname = \"a\"\n"),
              HasSubstr("x.toml:4:8: name: expected a unique name"));
  EXPECT_THAT(refusal("[[scenario]]\n[[plot]]\nname = \"a/b\"\nx = \"x\"\ny = \"y\"\n"),
              HasSubstr("x.toml:3:8: name:"));
  EXPECT_THAT(refusal("[[scenario]]\n[[plot]]\nname = \"p\"\nscenario = \"none\"\nx = \"x\"\n"
                      "y = \"y\"\n"),
              HasSubstr("x.toml:4:12: scenario: expected a [[scenario]]'s name"));
  EXPECT_THAT(refusal("[[scenario]]\n[scenario.compare]\ntable = \"t.csv\"\n"),
              HasSubstr("expected the key columns of a row"));
  EXPECT_THAT(refusal("[[scenario]]\n[[premise]]\nparameter = \"a\"\nvalue = \"b\"\n"
                      "basis = \"guessed\"\n"),
              HasSubstr("x.toml:5:9: basis:"));
}

}  // namespace experiment_profile_test
}  // namespace lw::config
