// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot.h"

#include <gtest/gtest.h>

namespace lw::report {
namespace {

using Scale = PlotAxis::Scale;

std::string labels_of(const PlotScale& scale) {
  std::string text;
  for (const auto& tick : scale.ticks()) text += tick.label + "|";
  return text;
}

TEST(PlotScale, LabelsAreRound) {
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::linear}, 3, 97)),
            "0|20|40|60|80|100|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::linear}, 0, 0)), "0|0.2|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::log}, 1e-3, 0.5)),
            "0.001|0.01|0.1|1|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::binary}, 512, 4096)),
            "512|1 Ki|2 Ki|4 Ki|");
}

TEST(PlotScale, ValuesStandWhereTheyShould) {
  const PlotScale linear({.label = {}, .scale = Scale::linear}, 0, 100),
      log({.label = {}, .scale = Scale::log}, 1, 100);
  EXPECT_DOUBLE_EQ(linear.place_of(25), 0.25);
  EXPECT_DOUBLE_EQ(log.place_of(10), 0.5);
  EXPECT_FALSE(PlotScale::fits(Scale::log, 0));
  EXPECT_TRUE(PlotScale::fits(Scale::linear, -1));
}

TEST(PlotScale, CategoriesStandInTheMiddleOfEqualParts) {
  const PlotScale sizes({.label = {}, .scale = Scale::category, .categories = {"64", "1500"}}, 0,
                        0);
  EXPECT_EQ(labels_of(sizes), "64|1500|");
  EXPECT_DOUBLE_EQ(sizes.place_of(0), 0.25);
  EXPECT_DOUBLE_EQ(sizes.place_of(1), 0.75);
}

TEST(Plot, DrawsWhatFitsAndEscapesText) {
  const std::string svg = to_svg(
      {.title = "a < b & c",
       .x = {.label = "km", .scale = Scale::log},
       .y = {.label = "Gb/s", .scale = Scale::linear},
       .curves = {{.name = "one", .points = {{1, 1, {}, {}}, {10, 2, 1.5, 2.5}, {0, 3, {}, {}}}},
                  {.name = "none", .points = {}}}});
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  std::size_t dots = 0;
  for (std::size_t at = svg.find("<circle"); at != std::string::npos;
       at = svg.find("<circle", at + 1))
    ++dots;
  EXPECT_EQ(dots, 4U);  // two points, of which x = 0 is none, and two in the legend
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace lw::report
