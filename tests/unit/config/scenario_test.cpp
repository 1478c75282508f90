// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/scenario.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/impair/profile.h"
#include "config/impair/profile_source.h"

namespace lw::config {
namespace scenario_test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

const std::string kBase =
    "[path]\nname = \"near\"\n[[path.span]]\nlength = \"100km\"\n"
    "[[rule]]\nname = \"haul\"\ndelay = \"path\"\n"  // lines 5 to 7
    "[[rule]]\nname = \"rest\"\nmatch = \"all\"\ndelay = \"1ms\"\nloss = \"1%\"\n"
    "queue = { rate = \"10Gb/s\", buffer = \"1MB\" }\n";  // lines 8 to 13

ImpairProfile parsed(const std::string& text) {
  auto profile = parse_impair_profile(kBase + text, "x.toml");
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? *profile : ImpairProfile{};
}

std::string refusal(const std::string& text) {
  const auto profile = parse_impair_profile(kBase + text, "x.toml");
  return profile ? "" : profile.error().message;
}

std::shared_ptr<const ProfileSource> source_of(const std::string& text) {
  return ProfileSource::read(text, {"x.toml"}).value().source;
}

/// The profile as it is once the first `count` steps are done.
ImpairProfile after(const std::string& text, std::size_t count) {
  const auto profile = parsed(text);
  std::vector<Edit> edits;
  for (std::size_t i = 0; i < count; ++i)
    for (const Edit& edit : profile.scenario.at(i).edits) edits.push_back(edit);
  auto settled = source_of(kBase + text)->with(edits);
  EXPECT_TRUE(settled) << settled.error().message;
  return settled ? *settled : ImpairProfile{};
}

TEST(Scenario, AnAtChangesTheKeysItNames) {
  const std::string text =
      "[[at]]\ntime = \"2s\"\nrule = \"rest\"\nset = { loss = \"5%\", \"queue.rate\" = \"1Gb/s\" "
      "}\n"
      "[[at]]\ntime = \"1s\"\nrule = \"rest\"\nset.queue.buffer = \"2MB\"\n"
      "[[at]]\ntime = \"3s\"\nrule = \"rest\"\nset = { delay = \"\" }\n";
  const auto steps = parsed(text).scenario;
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].at, seconds(1));
  EXPECT_EQ(steps[1].at, seconds(2));
  EXPECT_EQ(after(text, 1).rules[1].queue->buffer_bytes, 2'000'000U);
  EXPECT_EQ(after(text, 1).rules[1].queue->rate_bps, 10e9) << "dots reach into a table";
  const auto second = after(text, 2).rules[1];
  EXPECT_EQ(second.loss, emulator::LossConfig{0.05});
  EXPECT_EQ(second.queue->rate_bps, 1e9);
  EXPECT_EQ(second.queue->buffer_bytes, 2'000'000U);
  EXPECT_FALSE(after(text, 3).rules[1].delay);
}

TEST(Scenario, ATableInBracesTakesTheWholePlace) {
  const std::string text =
      "[[at]]\ntime = \"1s\"\nrule = \"rest\"\n"
      "set = { queue = { rate = \"1Gb/s\" } }\n";
  EXPECT_THAT(refusal(text), HasSubstr("x.toml:17:9: buffer: expected"));
}

TEST(Scenario, ARampGoesFromWhatIsThereInEqualSteps) {
  const std::string text =
      "[[at]]\ntime = \"1s\"\nrule = \"rest\"\nover = \"2s\"\nsteps = 4\n"
      "set = { delay = \"5ms\", loss = \"5%\", \"queue.rate\" = \"2Gb/s\" }\n";
  const auto steps = parsed(text).scenario;
  ASSERT_EQ(steps.size(), 4U);
  EXPECT_EQ(steps[0].at, milliseconds(1500));
  EXPECT_EQ(steps[3].at, seconds(3));
  const double delays_ms[] = {2, 3, 4, 5};
  for (std::size_t i = 0; i < 4; ++i) {
    const auto rule = after(text, i + 1).rules[1];
    EXPECT_EQ(rule.delay, Duration(static_cast<std::int64_t>(delays_ms[i] * 1e6)));
    EXPECT_NEAR(std::get<double>(rule.loss), 0.01 * static_cast<double>(i + 2), 1e-15);
    EXPECT_NEAR(rule.queue->rate_bps, 10e9 - 2e9 * static_cast<double>(i + 1), 1);
  }
}

TEST(Scenario, ARampBeginsWhereEarlierStepsLedAndAtThePathsDelay) {
  const std::string text =
      "[[at]]\ntime = \"1s\"\nrule = \"rest\"\nset = { delay = \"3ms\" }\n"
      "[[at]]\ntime = \"2s\"\nrule = \"rest\"\nover = \"1s\"\nsteps = 2\nset = { delay = \"5ms\" "
      "}\n";
  EXPECT_EQ(after(text, 2).rules[1].delay, milliseconds(4));
  const std::string of_path =
      "[[at]]\ntime = \"2s\"\nrule = \"haul\"\nover = \"1s\"\nsteps = 2\nset = { delay = \"1ms\" "
      "}\n";
  // 100 km at 1.4682 take 489739 ns; half way to 1 ms.
  EXPECT_EQ(after(of_path, 1).rules[0].delay, Duration(744'870));
}

TEST(Scenario, ARampOfAStageThatIsNotThereBeginsWithNothing) {
  const auto course = [](const std::string& keys) {
    return "[[at]]\ntime = \"1s\"\nrule = \"bare\"\nover = \"1s\"\nsteps = 2\nset = " + keys +
           "\n[[rule]]\nname = \"bare\"\n";
  };
  const auto rule =
      after(course("{ loss = \"4%\", delay = \"1ms\", duplicate = \"20%\" }"), 1).rules.back();
  EXPECT_EQ(rule.loss, emulator::LossConfig{0.02});
  EXPECT_EQ(rule.delay, microseconds(500));
  EXPECT_DOUBLE_EQ(rule.duplicate->probability, 0.1);
  EXPECT_THAT(refusal(course("{ order = \"free\" }")), HasSubstr("a first value of the ramp"));
}

TEST(Scenario, AProtectionIsAnOutageThenAnotherPath) {
  const std::string text =
      "[[protection]]\ntime = \"1s\"\noutage = \"50ms\"\n"
      "path = { span = [ { length = \"200km\" } ] }\norder = \"free\"\n";
  const auto steps = parsed(text).scenario;
  ASSERT_EQ(steps.size(), 2U);
  EXPECT_EQ(steps[1].at, milliseconds(1050));
  EXPECT_TRUE(after(text, 1).rules[0].outage);
  EXPECT_FALSE(after(text, 1).rules[1].outage) << "it doesn't go by the path";
  const auto over = after(text, 2).rules[0];
  EXPECT_FALSE(over.outage);
  EXPECT_TRUE(over.overtakes);
  EXPECT_EQ(over.delay, Duration(979'478));
}

TEST(Scenario, AFlapTakesLinksDownAndBackUp) {
  const auto steps = parsed(
                         "[[flap]]\ntime = \"1s\"\nport = \"both\"\ndown = \"10ms\"\nevery = "
                         "\"100ms\"\ntimes = 3\n")
                         .scenario;
  ASSERT_EQ(steps.size(), 6U);
  EXPECT_EQ(steps[4].at, milliseconds(1200));
  EXPECT_EQ(steps[4].links, (LinkChange{.west = true, .east = true, .up = false}));
  EXPECT_EQ(steps[5].at, milliseconds(1210));
  EXPECT_TRUE(steps[5].links->up);
}

TEST(Scenario, RoomIsMadeForWhatIsToCome) {
  const auto profile =
      parsed("[[at]]\nname = \"far\"\nrule = \"haul\"\nset = { delay = \"20ms\" }\n");
  EXPECT_TRUE(profile.scenario.empty()) << "it waits for its command";
  EXPECT_EQ(profile.longest_delay(), milliseconds(20));
}

TEST(Scenario, MistakesAreAtTheirOwnPlaces) {
  const auto at = [](const std::string& keys) { return "[[at]]\n" + keys; };
  EXPECT_THAT(refusal(at("time = \"1s\"\nrule = \"rest\"\nset = { loss = \"500%\" }\n")),
              HasSubstr("x.toml:17:9: loss: expected"));
  EXPECT_THAT(refusal(at("time = \"1s\"\nrule = \"rest\"\nset = { lost = \"5%\" }\n")),
              HasSubstr("x.toml:17:9: unknown key \"lost\": did you mean \"loss\"?"));
  EXPECT_THAT(refusal(at("time = \"1s\"\nrule = \"hall\"\nset = { loss = \"100%\" }\n")),
              HasSubstr("x.toml:16:8: rule: expected a [[rule]]'s name"));
  EXPECT_THAT(refusal(at("time = \"0s\"\nrule = \"rest\"\nset = { loss = \"100%\" }\n")),
              HasSubstr("x.toml:15:8: time: expected more than 0"));
  EXPECT_THAT(refusal(at("rule = \"rest\"\nset = { loss = \"100%\" }\n")),
              HasSubstr("expected a time, or a name"));
  EXPECT_THAT(refusal(at("time = \"1s\"\nset = { seed = 7 }\n")),
              HasSubstr("set: expected path, path_order or outage"));
  EXPECT_THAT(refusal(at("time = \"1s\"\nrule = \"rest\"\nset = { name = \"x\" }\n")),
              HasSubstr("random draws depend on it"));
  EXPECT_THAT(
      refusal(at("time = \"1s\"\nrule = \"haul\"\nover = \"1s\"\nset = { match = \"all\" }\n")),
      HasSubstr("x.toml:18:9: match: expected a first value of the ramp"));
  EXPECT_THAT(
      refusal(at("time = \"1s\"\nrule = \"rest\"\nover = \"1s\"\nset = { delay = \"9Gb/s\" }\n")),
      HasSubstr("two values of one kind"));
  EXPECT_THAT(refusal(at("time = \"1s\"\nrule = \"rest\"\nsteps = 3\nset = { loss = \"100%\" }\n")),
              HasSubstr("steps: expected only with over"));
  EXPECT_THAT(refusal("[[protection]]\ntime = \"1s\"\noutage = \"1ms\"\npath = \"none.toml\"\n"),
              HasSubstr("x.toml:17:8: path: none.toml: no such profile"));
  EXPECT_THAT(refusal("[[flap]]\ntime = \"1s\"\ndown = \"1s\"\ntimes = 2\nport = \"west\"\n"),
              HasSubstr("times: expected every"));
  EXPECT_THAT(refusal("[[flap]]\nname = \"f\"\ndown = \"1s\"\nport = \"west\"\n"
                      "[[flap]]\nname = \"f\"\ndown = \"1s\"\nport = \"west\"\n"),
              HasSubstr("expected a unique name"));
}

TEST(Scenario, AProtectionNeedsSomeoneOnThePath) {
  const auto profile = parse_impair_profile(
      "[[rule]]\nname = \"r\"\ndelay = \"1ms\"\n[[protection]]\ntime = \"1s\"\noutage = \"0s\"\n"
      "path = { span = [ { length = \"200km\" } ] }\n",
      "x.toml");
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message, HasSubstr("x.toml:4:1: protection0: expected a rule with"));
}

TEST(Scenario, ACommandsStepsStartNowAndAreValidated) {
  const std::string text = kBase +
                           "[[at]]\nname = \"worse\"\nrule = \"rest\"\nover = \"1s\"\nsteps = 2\n"
                           "set = { loss = \"3%\" }\n"
                           "[[event]]\nname = \"hit\"\non_command = true\non = \"ack\"\n"
                           "action = \"drop\"\n";
  const auto [profile, source] = ProfileSource::read(text, {"x.toml"}).value();
  EXPECT_TRUE(profile.events.empty());
  const auto steps = source->steps_on_command({}, {.name = "worse"});
  ASSERT_TRUE(steps) << steps.error().message;
  ASSERT_EQ(steps->size(), 2U);
  EXPECT_EQ((*steps)[0].at, milliseconds(500));
  const auto hit = source->steps_on_command({}, {.name = "hit"});
  ASSERT_TRUE(hit) << hit.error().message;
  const auto events = source->with(hit->front().edits)->events;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_TRUE(events[0].from_now);
  EXPECT_EQ(events[0].name, "hit");
  EXPECT_THAT(source->steps_on_command({}, {.name = "hid"}).error().message,
              HasSubstr("found \"hid\""));
}

TEST(Ramp, ValuesOfAKindHaveSomethingBetween) {
  const auto value = [](auto data) { return Value{{}, data}; };
  const auto text = [&](const char* words) { return value(std::string(words)); };
  EXPECT_EQ(text_of(*between(value(std::int64_t{2}), value(std::int64_t{4}), 0.5)), "3");
  EXPECT_EQ(text_of(*between(value(std::int64_t{0}), value(std::int64_t{1}), 0.5)), "5e-1");
  EXPECT_EQ(text_of(*between(text("1ms"), text("2ms"), 0.25)), "1250000ns");
  EXPECT_EQ(text_of(*between(text("1Gb/s"), text("3Gb/s"), 0.5)), "2000000000b/s");
  EXPECT_EQ(text_of(*between(text("1MB"), text("3MB"), 0.5)), "2000000B");
  EXPECT_EQ(text_of(*between(value(std::int64_t{0}), text("1%"), 0.5)), "5.00000000000000010e-03");
  EXPECT_FALSE(between(text("path"), text("1ms"), 0.5));
}

TEST(Scenario, TheShippedOnesLoad) {
  for (const char* name : {"protection-switch", "degrading-path"}) {
    const auto profile = load_impair_profile(std::string(std::getenv("LONGWIRE_SOURCE")) +
                                             "/profiles/impair/" + name + ".toml");
    ASSERT_TRUE(profile) << profile.error().message;
    EXPECT_FALSE(profile->scenario.empty());
  }
}

}  // namespace scenario_test
}  // namespace lw::config
