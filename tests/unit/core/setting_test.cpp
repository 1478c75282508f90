// SPDX-License-Identifier: BSD-3-Clause
#include "core/setting.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.h"

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

struct Quantities {
  Duration time{1500};
  double rate_bps = 25e9, share = 0.001;
  std::uint64_t bytes = 16'000'000;
  std::optional<std::uint64_t> limit = {};

  static const FigureTable& figures();
};

const FigureTable& Quantities::figures() {
  using Row = FigureOf<Quantities>;
  static constexpr Figure kRows[] = {
      Row::of<&Quantities::time>("time", "Of a step.", Unit::ns).from(1, 1e9),
      Row::of<&Quantities::rate_bps>("rate", "Of a step.", Unit::bits_per_second)
          .from(1e3, kHighestRate),
      Row::of<&Quantities::share>("share", "Of all.", Unit::share).from(0, 0.5),
      Row::of<&Quantities::bytes>("bytes", "Of a step.", Unit::bytes).from(0, kLargestSize),
      Row::of<&Quantities::limit>("limit", "Of all.", Unit::bytes).from(1, 1 << 20)};
  static constexpr FigureTable kTable{"Quantities.", kRows};
  return kTable;
}

const Figure& quantity_row(std::size_t index) { return Quantities::figures().rows[index]; }

TEST(Setting, QuantitiesHaveAUnitInTheirText) {
  const Quantities defaults;
  std::vector<std::string> texts, values;
  for (const Figure& row : Quantities::figures().rows) {
    texts.push_back(text_of_setting(row, &defaults));
    values.push_back(values_of_setting(row));
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"1.5us", "25Gb/s", "0.1%", "16MB", ""}));
  EXPECT_EQ(values,
            (std::vector<std::string>{"a time from 1ns to 1s", "a rate from 1kb/s",
                                      "a share up to 50%", "a size", "a size from 1B to 1MiB"}));
  Quantities read{.time = {}, .rate_bps = 0, .share = 0, .bytes = 0};
  for (std::size_t i = 0; i < 4; ++i)
    ASSERT_TRUE(set_setting(quantity_row(i), &read, texts[i])) << texts[i];
  EXPECT_EQ(read.time, defaults.time);
  EXPECT_EQ(read.rate_bps, defaults.rate_bps);
  EXPECT_EQ(read.share, defaults.share);
  EXPECT_EQ(read.bytes, defaults.bytes);
  ASSERT_TRUE(set_setting(quantity_row(4), &read, "64KiB"));
  EXPECT_EQ(read.limit, 65536u);
}

TEST(Setting, TheTextOfASizeHasAllItsDigits) {
  Quantities read;
  for (const std::string_view text :
       {"0B", "60B", "1500B", "4097B", "64kB", "3MiB", "1000000001B"}) {
    ASSERT_TRUE(set_setting(quantity_row(3), &read, text));
    EXPECT_EQ(text_of_setting(quantity_row(3), &read), text);
  }
}

TEST(Setting, AQuantityOutOfItsBoundsIsRefused) {
  Quantities read;
  const auto error = [&](std::size_t row, std::string_view text) {
    const auto set = set_setting(quantity_row(row), &read, text);
    return set ? std::string() : set.error();
  };
  EXPECT_EQ(error(0, "2s"), "expected a time from 1ns to 1s, found \"2s\"");
  EXPECT_EQ(error(1, "5b/s"), "expected a rate from 1kb/s, found \"5b/s\"");
  EXPECT_EQ(error(2, "51%"), "expected a share up to 50%, found \"51%\"");
  EXPECT_EQ(error(4, "0"), "expected a size from 1B to 1MiB, found \"0\"");
  EXPECT_EQ(read.limit, std::nullopt);
}

}  // namespace
}  // namespace lw
