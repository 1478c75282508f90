// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/impair/path.h"
#include "config/impair/profile.h"
#include "config/impair/static_profile.h"

namespace lw::config {
namespace impair_profile_test {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using testing::HasSubstr;

std::string shipped(const std::string& name) {
  return std::string(std::getenv("LONGWIRE_SOURCE")) + "/profiles/" + name;
}

ImpairProfile parsed(std::string_view text) {
  auto profile = parse_impair_profile(text, "x.toml");
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? *profile : ImpairProfile{};
}

std::string refusal(std::string_view text) {
  const auto profile = parse_impair_profile(text, "x.toml");
  if (profile) return "";
  EXPECT_EQ(profile.error().exit, ExitCode::usage);
  return profile.error().message;
}

/// As many as a Transit can name.
TEST(ImpairProfile, TooManyRulesAreRefused) {
  EXPECT_TRUE(check_rule_count(2'097'151));
  const auto refused = check_rule_count(2'097'152);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "expected at most 2097151 [[rule]]s, found 2097152");
}

TEST(PathProfile, TheShippedPathTakesWhatWasMeasured) {
  const auto path = load_path_profile(shipped("paths/apn-380km.toml"));
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(path->name, "apn-380km");
  EXPECT_EQ(emulator::equipment_delay(*path, emulator::Direction::west_to_east),
            nanoseconds{42'500});
  EXPECT_EQ(emulator::one_way_delay(*path, emulator::Direction::west_to_east),
            nanoseconds{1'903'507});
  EXPECT_DOUBLE_EQ(path->rate_bps, 100e9);
}

TEST(PathProfile, EveryShippedPathLoads) {
  const auto folder = std::filesystem::directory_iterator(shipped("paths"));
  for (const auto& file : folder) {
    const auto path = load_path_profile(file.path().string());
    ASSERT_TRUE(path) << path.error().message;
    EXPECT_EQ(path->name, file.path().stem().string());
  }
}

TEST(PathProfile, PartsMayStandInOneWayOnly) {
  const auto profile = parse_impair_profile(
      "[path]\n[[path.span]]\nlength = \"10km\"\n[[path.span]]\nlength = \"100km\"\n"
      "direction = \"east-to-west\"\n[[path.equipment]]\nname = \"a\"\nlatency = \"1us\"\n"
      "direction = \"west-to-east\"\n[[rule]]\nname = \"r\"\ndelay = \"path\"\n",
      "x.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->rules.size(), 2U);
  EXPECT_TRUE(profile->rules[0].west_to_east && !profile->rules[0].east_to_west);
  EXPECT_EQ(profile->rules[0].delay, nanoseconds{48'974 + 1'000});
  EXPECT_TRUE(profile->rules[1].east_to_west && !profile->rules[1].west_to_east);
  EXPECT_EQ(profile->rules[1].delay, nanoseconds{538'713});
}

TEST(PathProfile, APathByItselfDelaysRoce) {
  const auto profile = parse_impair_profile("name = \"p\"\n[[span]]\nlength = \"100km\"\n", "x");
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->rules.size(), 1U);
  EXPECT_EQ(profile->rules[0].name, "p");
  EXPECT_EQ(profile->rules[0].match, emulator::MatchedFrames::rocev2);
  EXPECT_EQ(profile->rules[0].delay, nanoseconds{489'739});
}

TEST(ImpairProfile, EditsChangeRulesWithoutANameByTheirPlace) {
  constexpr std::string_view kText =
      "[[rule]]\nloss = 0\n[[rule]]\nname = \"named\"\n[[rule]]\nloss = 0\n"
      "[[at]]\ntime = \"1s\"\nrule = \"rule2\"\nset = {loss = \"3%\"}\n";
  const Edit edits[] = {{"rule", "rule0", "loss", "1%"}, {"rule", "rule2", "loss", "2%"}};
  const auto profile = parse_impair_profile(kText, "x.toml", edits);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->rules[0].loss, emulator::LossConfig{0.01});
  EXPECT_EQ(profile->rules[2].loss, emulator::LossConfig{0.02});
  EXPECT_EQ(profile->scenario.size(), 1U);
  const Edit of_named[] = {{"rule", "rule1", "loss", "1%"}};
  EXPECT_FALSE(parse_impair_profile(kText, "x.toml", of_named)) << "it has another name";
}

TEST(ImpairProfile, EditsChangeTheRuleOfAPathAlone) {
  const std::string name = shipped("paths/apn-380km.toml");
  const std::string text = read_profile_text(name).value();
  const auto alone = parse_impair_profile(text, name);
  const Edit edits[] = {{"rule", "apn-380km", "loss", "1%"}};
  const auto profile = parse_impair_profile(text, name, edits);
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->name, alone->name);
  EXPECT_EQ(profile->capacity.rate_bps, alone->capacity.rate_bps);
  ASSERT_EQ(profile->rules.size(), 1U);
  EXPECT_EQ(profile->rules[0].loss, emulator::LossConfig{0.01});
  EXPECT_EQ(profile->rules[0].delay, alone->rules[0].delay);
  const Edit back[] = {{"rule", "apn-380km", "loss", "0"}};
  EXPECT_EQ(parse_impair_profile(text, name, back)->rules[0].match, alone->rules[0].match);
}

TEST(ImpairProfile, AReserveIsATime) {
  EXPECT_EQ(parsed("[capacity]\nreserve = \"5ms\"\n[[rule]]\n").capacity.reserve,
            std::chrono::milliseconds(5));
  EXPECT_EQ(parsed("[[rule]]\n").capacity.reserve, Duration{});
  EXPECT_THAT(refusal("[capacity]\nreserve = \"5 frames\"\n[[rule]]\n"),
              HasSubstr("2:11: reserve"));
}

TEST(ImpairProfile, EditsChangeNamedRules) {
  constexpr std::string_view kText =
      "[[rule]]\nname = \"a\"\nloss = \"10%\"\n[[rule]]\nname = \"b\"\ndelay = \"1ms\"\n";
  const auto edited = [&](std::vector<Edit> edits) {
    return parse_impair_profile(kText, "x.toml", edits);
  };
  const auto profile = edited({{"rule", "a", "loss", "2%"},
                               {"rule", "b", "delay", "\"3ms\""},
                               {"rule", "b", "loss", "50%"},
                               {"rule", "a", "match", "all"}});
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->rules[0].loss, emulator::LossConfig{0.02});
  EXPECT_EQ(profile->rules[0].match, emulator::MatchedFrames::everything);
  EXPECT_EQ(profile->rules[1].delay, microseconds{3000});
  EXPECT_EQ(profile->rules[1].loss, emulator::LossConfig{0.5});
  const auto taken = edited({{"rule", "b", "delay", ""}});
  ASSERT_TRUE(taken);
  EXPECT_FALSE(taken->rules[1].delay);

  EXPECT_THAT(edited({{"rule", "c", "loss", "0"}}).error().message, HasSubstr("name = \"c\""));
  EXPECT_THAT(edited({{"rule", "a", "loss", "2"}}).error().message, HasSubstr("loss"));
  EXPECT_THAT(edited({{"rule", "a", "lss", "0"}}).error().message, HasSubstr("did you mean"));
}

TEST(PathProfile, RefusalsNameThePlace) {
  const auto message = [](std::string_view text) {
    return parse_path_profile(text, "p.toml").error().message;
  };
  EXPECT_THAT(message("name = \"x\""), HasSubstr("[[span]] or [[equipment]]"));
  EXPECT_THAT(message("[[span]]\ngroup_index = 1.5"), HasSubstr("length"));
  EXPECT_THAT(message("[[span]]\nlength = \"5kg\""), HasSubstr("p.toml:2:10"));
  EXPECT_THAT(message("[[span]]\nlength = \"5km\"\ngroup_index = 14682"), HasSubstr("p.toml:3:"));
  EXPECT_THAT(message("[[span]]\nlength = \"5km\"\ngroupindex = 1.4"), HasSubstr("group_index"));
  EXPECT_THAT(message("[[equipment]]\nname = \"a\"\nlatency = \"1us\"\ncount = 0"),
              HasSubstr("p.toml:4:"));
}

TEST(ImpairProfile, TheShippedOnesLoad) {
  const auto plain = load_impair_profile(shipped("impair/rocev2-only.toml"));
  ASSERT_TRUE(plain) << plain.error().message;
  ASSERT_EQ(plain->rules.size(), 1U);
  EXPECT_EQ(plain->rules[0].match, emulator::MatchedFrames::rocev2);
  EXPECT_EQ(plain->rules[0].delay, microseconds{1900});
  EXPECT_DOUBLE_EQ(std::get<double>(plain->rules[0].loss), 0.001);

  const auto haul = load_impair_profile(shipped("impair/apn-380km.toml"));
  ASSERT_TRUE(haul) << haul.error().message;
  EXPECT_EQ(haul->longest_delay(), nanoseconds{1'903'507});
  EXPECT_EQ(haul->capacity.largest_frame, 4500U);
  EXPECT_DOUBLE_EQ(haul->capacity.rate_bps, 100e9);
}

TEST(ImpairProfile, TheShippedEventsLoad) {
  const auto profile = load_impair_profile(shipped("impair/targeted-events.toml"));
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->rules.size(), 2U);
  EXPECT_EQ(profile->events.size(), 2U + 10 + 1 + 1 + 1);
  EXPECT_EQ(profile->longest_delay(), microseconds{50});
  EXPECT_EQ(profile->longest_stay(), microseconds{5050});
}

TEST(ImpairProfile, EventsNeedNoRules) {
  const auto profile = parsed("[[event]]\naction = \"drop\"");
  EXPECT_TRUE(profile.rules.empty());
  EXPECT_EQ(profile.events.size(), 1U);
}

TEST(ImpairProfile, DefaultsAreRoceBothWaysWithoutHarm) {
  const auto profile = parsed("[[rule]]\n");
  EXPECT_EQ(profile.seed, 1U);
  ASSERT_EQ(profile.rules.size(), 1U);
  EXPECT_EQ(profile.rules[0].name, "rule0");
  EXPECT_EQ(profile.rules[0].match, emulator::MatchedFrames::rocev2);
  EXPECT_TRUE(profile.rules[0].west_to_east && profile.rules[0].east_to_west);
  EXPECT_FALSE(emulator::loses(profile.rules[0].loss));
  EXPECT_FALSE(profile.rules[0].delay);
  EXPECT_FALSE(profile.log_all);
}

TEST(ImpairProfile, EveryKey) {
  const auto profile = parsed(R"(
    seed = 7
    [path]
    rate = "400Gb/s"
    [[path.span]]
    length = "100km"
    [ledger]
    all = true
    [capacity]
    rate = "10Gb/s"
    smallest_frame = "64B"
    largest_frame = "1522B"
    [[rule]]
    name = "a"
    match = "all"
    direction = "east-to-west"
    delay = "path"
    loss = 1e-9
    [[rule]]
    name = "b"
    direction = "west-to-east"
    delay = "250ns")");
  EXPECT_EQ(profile.seed, 7U);
  EXPECT_TRUE(profile.log_all);
  EXPECT_DOUBLE_EQ(profile.capacity.rate_bps, 10e9);
  EXPECT_EQ(profile.capacity.smallest_frame, 64U);
  EXPECT_EQ(profile.capacity.largest_frame, 1522U);
  EXPECT_EQ(profile.rules[0].match, emulator::MatchedFrames::everything);
  EXPECT_FALSE(profile.rules[0].west_to_east);
  EXPECT_EQ(profile.rules[0].delay,
            emulator::one_way_delay(*profile.path, emulator::Direction::west_to_east));
  EXPECT_DOUBLE_EQ(std::get<double>(profile.rules[0].loss), 1e-9);
  EXPECT_FALSE(profile.rules[1].east_to_west);
  EXPECT_EQ(profile.rules[1].delay, nanoseconds{250});
  EXPECT_EQ(profile.longest_delay(), profile.rules[0].delay);
}

TEST(ImpairProfile, ThePathsRateIsTheCapacitysUnlessItHasItsOwn) {
  const auto profile =
      parsed("[path]\nrate = \"25Gb/s\"\n[[path.span]]\nlength = \"1km\"\n[[rule]]");
  EXPECT_DOUBLE_EQ(profile.capacity.rate_bps, 25e9);
}

TEST(ImpairProfile, RefusalsNameThePlaceAndTheNearestKey) {
  EXPECT_THAT(refusal(""), HasSubstr("[[rule]]"));
  EXPECT_THAT(refusal("[[rule]]\ndelya = \"1ms\""), HasSubstr("x.toml:2:1"));
  EXPECT_THAT(refusal("[[rule]]\ndelya = \"1ms\""), HasSubstr("delay"));
  EXPECT_THAT(refusal("[[rule]]\ndelay = \"1 fortnight\""), HasSubstr("\"path\""));
  EXPECT_THAT(refusal("[[rule]]\ndelay = \"path\""), HasSubstr("[path]"));
  EXPECT_THAT(refusal("[[rule]]\nloss = \"101%\""), HasSubstr("x.toml:2:8"));
  EXPECT_THAT(refusal("[[rule]]\nmatch = \"rocev1\""), HasSubstr("rocev2"));
  EXPECT_THAT(refusal("on_link_loss = \"wait\"\n[[rule]]"),
              testing::AllOf(HasSubstr("x.toml:1:"), HasSubstr("stop"), HasSubstr("hold")));
  EXPECT_THAT(refusal("[[rule]]\ndirection = \"up\""), HasSubstr("west-to-east"));
  EXPECT_THAT(refusal("[[rule]]\nname=\"a\"\n[[rule]]\nname=\"a\""), HasSubstr("x.toml:4:"));
  EXPECT_THAT(refusal("[capacity]\nlargest_frame = \"10kB\"\n[[rule]]"), HasSubstr("9600"));
  EXPECT_THAT(refusal("[capacity]\nlargest_frame = \"100B\"\n[[rule]]"), HasSubstr("at most"));
  EXPECT_THAT(refusal("path = \"no such.toml\"\n[[rule]]"), HasSubstr("no such.toml"));
  EXPECT_THAT(refusal("path = 5\n[[rule]]"), HasSubstr("x.toml:1:8"));
}

/// A pause acts on the queue's own frames, so the stages behind it may be of any kind.
TEST(ImpairProfile, AnyNumberOfQueuesMayHonourPausesBesideAnyStage) {
  std::string text;
  for (int i = 0; i < 9; ++i)
    text += "[[rule]]\nname = \"" + std::to_string(i) +
            "\"\nqueue = { rate = \"1Gb/s\", buffer = \"1MB\", pfc = {} }\n"
            "jitter = { distribution = \"exponential\", mean = \"10us\" }\norder = \"free\"\n";
  EXPECT_TRUE(parse_impair_profile(text, "x.toml"));
}

TEST(ImpairProfile, ExpectationsAreFiguresByTheirPath) {
  const auto profile = parsed(
      "[expect]\nresources_hold = true\ndirections.west-to-east.loss_share = [\"> 1%\", 0.1]\n"
      "[expect.a.\"long haul\"]\n\"p99.9\" = \"< 2ms\"\n[[rule]]");
  std::vector<std::string> texts;
  for (const Expectation& each : profile.expect) texts.push_back(each.text);
  EXPECT_THAT(texts, testing::UnorderedElementsAre(
                         "resources_hold == true", "directions.west-to-east.loss_share > 1%",
                         "directions.west-to-east.loss_share <= 0.1", "a.long haul.p99.9 < 2ms"));
}

TEST(ImpairProfile, ExpectationsWithoutALimitAreRefused) {
  for (const char* value : {"\"\"", "\"few\"", "[[1]]", "[\"<\"]", "1979-05-27", "nan", "[]", "{}"})
    EXPECT_THAT(refusal(std::string("[expect]\na.b = ") + value + "\n[[rule]]"),
                testing::AllOf(HasSubstr("x.toml:2:7"), HasSubstr("expected")))
        << value;
  EXPECT_THAT(refusal("expect = 5\n[[rule]]"), HasSubstr("x.toml:1:10: expect: expected a table"));
}

}  // namespace impair_profile_test
}  // namespace lw::config
