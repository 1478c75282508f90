// SPDX-License-Identifier: BSD-3-Clause
#include "core/setting.h"

#include <cstdint>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace lw {
namespace {

enum class Scope : std::uint8_t { qp, port };
constexpr std::string_view kScopes[] = {"qp", "port"};
std::string_view name_of(Scope scope) { return kScopes[static_cast<std::size_t>(scope)]; }

struct Config {
  std::uint32_t threshold = 1;
  double period_us = 300;
  double rate_mbps = 0;
  Scope scope = Scope::qp;
  bool clamp = false;
  std::uint64_t counted = 7;  // a result

  static const FigureTable& figures();
};

const FigureTable& Config::figures() {
  using Row = FigureOf<Config>;
  static constexpr Figure kRows[] = {
      Row::of<&Config::threshold>("threshold", "Number of steps.").from(0, 31),
      Row::of<&Config::period_us>("period", "Time between two steps.", Unit::us).from(1, 1e9),
      Row::of<&Config::rate_mbps>("rate", "Rate of a step; 0: the link's rate.", Unit::mbps)
          .from(0, 1e9),
      Row::of<&Config::scope>("scope", "Senders that share a step.").set_to(kScopes),
      Row::of<&Config::clamp>("clamp", "DCQCN's clamp.").set_to(),
      Row::of<&Config::counted>("counted", "Steps so far.")};
  static constexpr FigureTable kTable{"Settings.", kRows};
  return kTable;
}

const Figure& row_of(std::string_view name) {
  for (const Figure& row : Config::figures().rows)
    if (row.name == name) return row;
  throw std::out_of_range(std::string(name));
}

TEST(Setting, EachRowReadsWhatItPrints) {
  const Config defaults;
  int settings = 0;
  for (const Figure& row : Config::figures().rows) {
    if (!row.is_setting()) continue;
    ++settings;
    Config config{
        .threshold = 9, .period_us = 2, .rate_mbps = 3, .scope = Scope::port, .clamp = true};
    EXPECT_TRUE(set_setting(row, &config, text_of_setting(row, &defaults))) << row.name;
    EXPECT_EQ(text_of_setting(row, &config), text_of_setting(row, &defaults)) << row.name;
  }
  EXPECT_EQ(settings, 5);
}

TEST(Setting, SetsOneMemberAndNoOther) {
  Config config;
  ASSERT_TRUE(set_setting(row_of("threshold"), &config, "0x1f"));
  ASSERT_TRUE(set_setting(row_of("rate"), &config, "2.5e2"));
  ASSERT_TRUE(set_setting(row_of("scope"), &config, "port"));
  ASSERT_TRUE(set_setting(row_of("clamp"), &config, "true"));
  EXPECT_EQ(config.threshold, 31u);
  EXPECT_EQ(config.rate_mbps, 250);
  EXPECT_EQ(config.scope, Scope::port);
  EXPECT_TRUE(config.clamp);
  EXPECT_EQ(config.period_us, 300);
}

TEST(Setting, WrongTextSaysWhatWasExpectedAndLeavesTheMember) {
  Config config;
  const auto error = [&](std::string_view name, std::string_view text) {
    const auto set = set_setting(row_of(name), &config, text);
    return set ? std::string() : set.error();
  };
  EXPECT_EQ(error("threshold", "32"), "expected a whole number from 0 to 31, found \"32\"");
  EXPECT_EQ(error("period", "0.5"), "expected a number from 1 to 1e+09, found \"0.5\"");
  EXPECT_EQ(error("period", "nan"), "expected a number from 1 to 1e+09, found \"nan\"");
  EXPECT_EQ(error("scope", "nic"), "expected qp, port, found \"nic\"");
  EXPECT_EQ(error("clamp", ""), "expected false, true, found \"\"");
  EXPECT_EQ(config.threshold, 1u);
  EXPECT_EQ(config.period_us, 300);
}

TEST(Setting, HelpHasTheUnitBeforeWhatZeroMeans) {
  EXPECT_EQ(help_of_setting(row_of("period")), "time between two steps, in us");
  EXPECT_EQ(help_of_setting(row_of("rate")), "rate of a step, in Mb/s; 0: the link's rate");
  EXPECT_EQ(help_of_setting(row_of("clamp")), "DCQCN's clamp");
}

}  // namespace
}  // namespace lw
