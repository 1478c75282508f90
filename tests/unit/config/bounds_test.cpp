// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/bounds.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/experiment/profile.h"
#include "config/flow/profile.h"
#include "config/impair/profile.h"
#include "config/limits.h"
#include "config/toml/document.h"
#include "support/temporary.h"

namespace lw::config {
namespace bounds_test {

using testing::HasSubstr;
using testing::StartsWith;

std::string repeated(std::string_view text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

std::string dotted(std::size_t parts) { return "a" + repeated(".a", parts - 1); }

std::string complaint(std::string_view text) {
  const auto document = Document::parse(text, "x.toml");
  return document ? "" : document.error().message;
}

std::string impair_complaint(std::string_view text) {
  const auto profile = parse_impair_profile(text, "x.toml");
  return profile ? "" : profile.error().message;
}

TEST(Bounds, RefuseDeepNestingOfEveryKind) {
  constexpr std::size_t kDeep = 20'000;
  for (const std::string& text :
       {dotted(kDeep) + " = 1", "[" + dotted(kDeep) + "]", "[[" + dotted(kDeep) + "]]",
        "a = " + repeated("[", kDeep) + repeated("]", kDeep),
        "a = " + repeated("{a = ", kDeep) + "1" + repeated("}", kDeep),
        "a = {" + dotted(kDeep) + " = 1}", "[" + dotted(20) + "]\n" + dotted(20) + " = 1",
        "a = " + repeated("[{a.a = ", kDeep) + "1" + repeated("}]", kDeep),
        "# no [.{ here\nb = \"\"\"[\"\"\"\"\"\n" + dotted(kDeep) + " = 1",
        repeated("\"a\" . ", kDeep) + "a = 1"}) {
    EXPECT_THAT(complaint(text), HasSubstr("within each other, found more")) << text.substr(0, 60);
    EXPECT_THAT(complaint(text), testing::MatchesRegex("x.toml:[0-9]+:[0-9]+: .*"));
  }
}

TEST(Bounds, GiveThePlaceInCharacters) {
  EXPECT_THAT(complaint("ä = 1\n" + dotted(100) + " = 1"), StartsWith("x.toml:2:66: "));
}

TEST(Bounds, AcceptWhatIsNotDeep) {
  const std::string many = repeated("1.5, ", 100);
  for (const std::string& text :
       {dotted(kDeepestProfile) + " = 1", "a = \"" + repeated("[{.", 100) + "\"",
        "a = '" + repeated("[{.\\", 100) + "'", "# " + repeated("[{.\"'", 100) + "\na = 1",
        "a = \"\"\"\n" + repeated("[{.\"\"\\\"\n", 100) + "\"\"\"\nb = 1",
        "a = '''" + repeated("[{.''\n", 100) + "'''\nb = 1",
        "a = \"\\\"" + repeated(".", 100) + "\"",
        "a = [" + many + "]\n" + "b = [ [" + many + "], [" + many + "] ]",
        repeated("[[a.b.c]]\nd.e = {f.g = [1.5]}\n", 100), std::string("a = \"\"\nb.c = ''")}) {
    EXPECT_EQ(complaint(text), "") << text.substr(0, 60);
  }
}

TEST(Bounds, RefuseMoreItemsAndBytesThanAProfileHas) {
  EXPECT_THAT(complaint("a = [" + repeated("1,", kMostProfileItems + 1) + "]"),
              StartsWith("x.toml:1:2000005: expected at most 1000000 keys"));
  EXPECT_THAT(complaint(repeated("[[a]]\n", kMostProfileItems + 1)), HasSubstr("keys"));
  EXPECT_THAT(complaint(repeated("# 4567890123456\n", (kMostProfileBytes >> 4) + 1)),
              HasSubstr("expected a profile of at most 16 MiB"));
}

TEST(Bounds, FollowTextsThatEndAnywhere) {
  const std::string text =
      "a = \"\"\"b\"\"\"\"\"\nc = '''d'''''\n[e.\"f\"] # g\nh = {i = ['j', \"k\\\"\"]}\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    EXPECT_NO_THROW(complaint(text.substr(0, size))) << size;
    EXPECT_NO_THROW(complaint(text.substr(size))) << size;
  }
}

TEST(Bounds, HoldForEdits) {
  const auto edited = [](Edit edit) {
    auto document = Document::parse("[[rule]]\nname = \"r\"\n", "x.toml");
    const auto applied = document->apply(edit);
    return applied ? "" : applied.error().message;
  };
  const auto edit = [](const std::string& key, const std::string& value) {
    return Edit{.table = "rule", .name = "r", .key = key, .value = value};
  };
  EXPECT_EQ(edited(edit("queue.rate", "1Gb/s")), "");
  EXPECT_THAT(edited(edit(dotted(20'000), "1")), HasSubstr("expected a key of at most 32 parts"));
  EXPECT_THAT(edited(edit("a", repeated("[", 20'000))), HasSubstr("within each other"));
  EXPECT_THAT(edited(edit("a", std::string("u\0dp", 4))), HasSubstr("NUL"));
  EXPECT_THAT(edited(edit("a", "\"u\\u0000dp\"")), HasSubstr("NUL"));
}

TEST(Bounds, RefuseNulInTextAndKeys) {
  EXPECT_THAT(complaint("a = [1, {b = \"udp\\u0000\"}]"), StartsWith("x.toml:1:14: "));
  EXPECT_THAT(complaint("\"a\\u0000\" = 1"), HasSubstr("NUL"));
  EXPECT_THAT(complaint(std::string("a = \"\0\"", 7)), StartsWith("x.toml:1:"));
}

TEST(Bounds, LimitTheErrorsThatOneRunReports) {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "key" + std::to_string(i) + " = 1\n";
  const std::string message = impair_complaint(text + "[[rule]]\n");
  EXPECT_EQ(std::ranges::count(message, '\n'), static_cast<std::ptrdiff_t>(kMostErrors));
  EXPECT_THAT(message, testing::EndsWith("further errors are not listed: correct these first"));
  EXPECT_THAT(impair_complaint("[[rule]]\nname = 1\n\"" + repeated("k", 100'000) + "\" = 1"),
              testing::SizeIs(testing::Lt(400)));
}

TEST(Bounds, LimitTheNumberOfTables) {
  EXPECT_THAT(impair_complaint(repeated("[[event]]\n", kMostTables + 1)),
              HasSubstr("x.toml:50001:1: event: expected at most 50000 [[event]] tables"));
  const auto flows = parse_flow_profile("[[flow]]\n[[flow]]\nqps = 1048576\n", "x.toml");
  ASSERT_FALSE(flows);
  EXPECT_THAT(flows.error().message,
              HasSubstr("x.toml:3:7: qps: expected at most 1048576 QPs in all flows"));
}

TEST(Bounds, LimitEventsWhoseProductOverflows) {
  EXPECT_THAT(impair_complaint("[[event]]\naction = \"drop\"\npsn_offset = \"0-16777215\"\n"
                               "occurrence = \"1-1000000000\"\n"),
              HasSubstr("expected at most 65536 pairs"));
  EXPECT_THAT(impair_complaint(repeated("[[event]]\naction = \"drop\"\n"
                                        "psn_offset = \"0-65535\"\n",
                                        5)),
              HasSubstr("expected at most 262144 pairs of PSN and occurrence in all"));
}

TEST(Bounds, LimitSumsOfTimes) {
  EXPECT_THAT(impair_complaint("[[rule]]\ndelay = \"9000000000s\"\n"),
              StartsWith("x.toml:2:9: delay: expected a time from 0 to 31536000 s"));
  EXPECT_THAT(impair_complaint("[[equipment]]\nname = \"e\"\ncount = 100000\n"
                               "latency = \"31536000s\"\n"),
              HasSubstr("equipment: expected at most 31536000 s of latency in all"));
  EXPECT_THAT(impair_complaint("[[rule]]\n[[flap]]\ntime = \"1s\"\nport = \"west\"\ndown = \"1s\"\n"
                               "times = 1000\nevery = \"31536000s\"\n"),
              HasSubstr("every: expected all flaps within 31536000 s"));
}

TEST(Bounds, ARampOverTheLongestTimeDoesNotOverflow) {
  const auto profile = parse_impair_profile(
      "[[rule]]\nname = \"r\"\ndelay = \"1ms\"\n[[at]]\ntime = \"31536000s\"\nrule = \"r\"\n"
      "over = \"31536000s\"\nsteps = 1000\nset = {delay = \"2ms\"}\n",
      "x.toml");
  ASSERT_TRUE(profile) << profile.error().message;
  EXPECT_EQ(profile->scenario.size(), 1000u);
  EXPECT_EQ(profile->scenario.back().at, std::chrono::seconds(2 * 31'536'000));
}

TEST(Bounds, LimitStepsOnCommandToo) {
  std::string text = "[[rule]]\nname = \"r\"\ndelay = \"1ms\"\n";
  for (int i = 0; i < 11; ++i)
    text += "[[at]]\nname = \"a" + std::to_string(i) +
            "\"\nrule = \"r\"\nover = \"10s\"\nsteps = 1000\nset = {delay = \"2ms\"}\n";
  EXPECT_THAT(impair_complaint(text), HasSubstr("expected at most 10000 steps in total"));
}

TEST(Bounds, LimitTheFiltersOfAProfile) {
  std::string filter = "udp";
  for (int i = 0; i < 100; ++i) filter += " or udp port " + std::to_string(i);
  EXPECT_EQ(impair_complaint("[[rule]]\nmatch = {filter = \"" + filter + "\"}\n"), "");
  EXPECT_THAT(impair_complaint(repeated("[[rule]]\nmatch = {filter = \"" + filter + "\"}\n", 6)),
              HasSubstr("expected filters of at most 2048 words in all rules"));
  EXPECT_THAT(impair_complaint("[[rule]]\nmatch = {filter = \"host server1\"}\n"),
              StartsWith("x.toml:2:19: filter: filter \"host server1\": character 6: expected an "
                         "address, a number or a keyword, found the name \"server1\""));
}

TEST(Bounds, LimitTheCombinationsOfASweep) {
  std::string text = "[[scenario]]\n[scenario.set]\n";
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    text += std::string(name) + " = [1, 2, 3, 4, 5, 6, 7, 8]\n";
  const auto profile = parse_experiment_profile(text, "x.toml");
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message, HasSubstr("expected at most 100000 combinations"));
}

class InputFiles : public testing::Test {
 protected:
  InputFiles() : folder_(lw::test::temporary_folder() + "bounds_test") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~InputFiles() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_;
};

TEST_F(InputFiles, AreBoundedWhereverAProfileNamesThem) {
  const auto profile = [&](const std::string& rule) {
    std::ofstream(folder_ / "x.toml") << "[[rule]]\n" << rule << "\n";
    const auto read = load_impair_profile(folder_ / "x.toml");
    return read ? "" : read.error().message;
  };
  std::ofstream bins(folder_ / "bins");
  for (int i = 0; i < 20'000; ++i) bins << i << "us," << i + 1 << "us,1\n";
  bins.close();
  EXPECT_THAT(profile("jitter = {distribution = \"histogram\", file = \"bins\"}"),
              HasSubstr("x.toml:2:46: file: bins: line 16386: expected at most 16385 rows"));
  std::ofstream(folder_ / "rows") << "time,delay\n0s,9000000000s\n";
  EXPECT_THAT(profile("trace = {file = \"rows\"}"),
              HasSubstr("rows: line 2: expected a time from 0 to"));
  std::ofstream(folder_ / "frames") << "1 2\n99999999999999999999\n";
  EXPECT_THAT(profile("loss = {model = \"listed\", file = \"frames\"}"),
              HasSubstr("line 2: expected frame numbers below 2^64"));
  for (const char* other : {"/dev/zero", "/proc"})
    EXPECT_THAT(profile("trace = {file = \"" + std::string(other) + "\"}"), HasSubstr(other));
}

}  // namespace bounds_test
}  // namespace lw::config
