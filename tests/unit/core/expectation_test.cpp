// SPDX-License-Identifier: BSD-3-Clause
#include "core/expectation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw {
namespace expectation_test {

using Unit = Expectation::Unit;

TEST(Expectation, has_a_name_a_comparison_and_a_value) {
  const auto parsed = parse_expectation(" west.loss  <=0.1% ");
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(parsed->name, "west.loss");
  EXPECT_EQ(parsed->limit, "<= 0.1%");
  EXPECT_EQ(parsed->text, " west.loss  <=0.1% ");
  EXPECT_EQ(parsed->unit, Unit::share);
  EXPECT_DOUBLE_EQ(parsed->value, 0.001);
}

TEST(Expectation, reads_each_kind_of_value) {
  const struct {
    const char* text;
    Unit unit;
    double value;
  } cases[] = {{"12", Unit::none, 12},       {"-1.5", Unit::none, -1.5},
               {"1e3", Unit::none, 1000},    {"250 %", Unit::share, 2.5},
               {"1.9ms", Unit::time, 1.9e6}, {"20us", Unit::time, 20'000},
               {"10Gb/s", Unit::rate, 10e9}, {"64KiB", Unit::size, 65'536},
               {"true", Unit::truth, 1},     {"false", Unit::truth, 0}};
  for (const auto& [text, unit, value] : cases) {
    const auto parsed = parse_expectation(std::string("x = ") + text);
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(parsed->unit, unit) << text;
    EXPECT_DOUBLE_EQ(parsed->value, value) << text;
  }
}

TEST(Expectation, compares_as_it_says) {
  const struct {
    const char* relation;
    bool below, equal, above;
  } cases[] = {{"<", true, false, false}, {"<=", true, true, false}, {">", false, false, true},
               {">=", false, true, true}, {"=", false, true, false}, {"==", false, true, false},
               {"!=", true, false, true}};
  for (const auto& [relation, below, equal, above] : cases) {
    const auto parsed = parse_expectation(std::string("x") + relation + "2");
    ASSERT_TRUE(parsed) << parsed.error();
    EXPECT_EQ(parsed->compares(1, parsed->value), below) << relation;
    EXPECT_EQ(parsed->compares(2, parsed->value), equal) << relation;
    EXPECT_EQ(parsed->compares(3, parsed->value), above) << relation;
  }
}

TEST(Expectation, refuses_what_is_not_one) {
  using testing::HasSubstr;
  for (const char* text : {"", "loss", "loss 3", "<3", " <= 3", "loss!3", "loss ! = 3"}) {
    const auto parsed = parse_expectation(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error(), HasSubstr("expected NAME<=VALUE")) << text;
  }
  for (const char* text : {"x<", "x<=", "x<few", "x<3 apples", "x<nan", "x<inf", "x<%", "x<=>3",
                           "x<1e999", "x<3;", "x<--1", "x<1%%"}) {
    const auto parsed = parse_expectation(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_THAT(parsed.error(), HasSubstr("x: expected a number")) << text;
  }
}

TEST(Expectation, fits_figures_of_its_unit) {
  const auto error = [](const char* text, Unit unit) {
    const auto fits = check_limit(*parse_expectation(text), unit);
    return fits ? std::string() : fits.error();
  };
  for (const char* share : {"x<=1%", "x<=1e-3", "x==0"})
    EXPECT_EQ(error(share, Unit::share), "") << share;
  EXPECT_EQ(error("x<=0.1", Unit::share), "0.1: write 0.1% or 10%");
  EXPECT_EQ(error("x<=1", Unit::share), "1: write 1% or 100%");
  for (const auto& [text, unit] : {std::pair("x<=1ms", Unit::share), std::pair("x<=1%", Unit::time),
                                   std::pair("x<=5", Unit::time), std::pair("x<=1us", Unit::none),
                                   std::pair("x>=1ms", Unit::rate), std::pair("x<0%", Unit::share)})
    EXPECT_NE(error(text, unit), "") << text;
  EXPECT_EQ(error("x>=1Gb/s", Unit::rate), "");
  EXPECT_EQ(error("x<=1%", Unit::none), "");  // of a whole
}

}  // namespace expectation_test
}  // namespace lw
