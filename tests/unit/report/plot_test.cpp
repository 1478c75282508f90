// SPDX-License-Identifier: BSD-3-Clause
#include "report/plot.h"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace lw::report {
namespace {

using Scale = PlotAxis::Scale;

std::string labels_of(const PlotScale& scale) {
  std::string text;
  for (const auto& tick : scale.ticks()) text += tick.label + "|";
  return text;
}

/// The places of `what` in `text`.
std::vector<std::size_t> all_of(const std::string& text, const std::string& what) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    places.push_back(at);
  return places;
}

/// The values of an attribute, in their order: stroke-dasharray="5 4".
std::vector<std::string> values_of(const std::string& svg, const std::string& attribute) {
  std::vector<std::string> values;
  for (const std::size_t at : all_of(svg, " " + attribute + "=\"")) {
    const std::size_t begin = at + attribute.size() + 3;
    values.push_back(svg.substr(begin, svg.find('"', begin) - begin));
  }
  return values;
}

/// The height of a text, in px.
double height_of(const std::string& svg, const std::string& text) {
  const std::size_t end = svg.find(">" + text + "<"), at = svg.rfind(" y=\"", end);
  return std::stod(svg.substr(at + 4));
}

TEST(PlotScale, LabelsAreRound) {
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::linear}, 3, 97)),
            "0|20|40|60|80|100|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::linear}, 0, 0)), "0|0.2|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::log}, 1e-3, 0.5)),
            "0.001|0.01|0.1|1|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::linear}, 0, 2.4e6)),
            "0|0.5 M|1 M|1.5 M|2 M|2.5 M|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::log}, 1e-7, 2e7)),
            "10⁻⁷|10⁻⁵|0.001|0.1|10|1000|100 k|10 M|");
  EXPECT_EQ(labels_of(PlotScale({.label = {}, .scale = Scale::binary}, 512, 4096)),
            "512|1 Ki|2 Ki|4 Ki|");
}

TEST(PlotScale, FewDecadesAreDividedAndCutWhereTheValuesEnd) {
  const auto log = [](double least, double most) {
    return labels_of(PlotScale({.label = {}, .scale = Scale::log}, least, most));
  };
  EXPECT_EQ(log(1.9, 1.9), "1|2|");
  EXPECT_EQ(log(1, 1), "1|2|");
  EXPECT_EQ(log(2, 50), "2|5|10|20|50|");
  EXPECT_EQ(log(3, 21), "2|5|10|20|50|");
  EXPECT_EQ(log(0.7, 0.9), "0.5|1|");
  EXPECT_EQ(log(1, 100), "1|2|5|10|20|50|100|");
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
  EXPECT_EQ(all_of(svg, "<circle").size(), 3U);   // two points, x = 0 being none, and the legend's
  EXPECT_EQ(all_of(svg, "<polygon").size(), 1U);  // the other curve's mark, in the legend
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

/// In black and white, and for any colour vision.
TEST(Plot, CurvesDifferInShapeAsWellAsInColour) {
  constexpr std::size_t kCurves = 7;
  Plot plot{.title = {}, .x = {.label = "x"}, .y = {.label = "y"}, .curves = {}};
  for (std::size_t i = 0; i < kCurves; ++i)
    plot.curves.push_back({.name = "curve", .points = {{1, 1, {}, {}}, {2, 2, {}, {}}}});
  const std::string marked = to_svg(plot);
  std::set<std::string> shapes;
  for (const std::size_t at : all_of(marked, "<polygon ")) {
    const std::size_t begin = marked.find(" points=\"", at);
    shapes.insert(marked.substr(begin, marked.find('"', begin + 9) - begin));
  }
  EXPECT_EQ(shapes.size() + 1, kCurves);  // the first one's are circles
  for (PlotCurve& curve : plot.curves) curve.marked = false;
  const auto dashes = values_of(to_svg(plot), "stroke-dasharray");
  EXPECT_EQ(std::set(dashes.begin(), dashes.end()).size() + 1, kCurves);  // the first one is solid
  EXPECT_EQ(dashes.size(), 2 * (kCurves - 1));                            // and in the legend
}

TEST(Plot, TheLegendIsBesideTheEndsOfTheCurves) {
  const auto curve = [](const char* name, double end) {
    return PlotCurve{.name = name, .points = {{0, 5, {}, {}}, {1, end, {}, {}}}};
  };
  const std::string svg = to_svg(
      {.title = {},
       .x = {.label = "x"},
       .y = {.label = "y"},
       .curves = {curve("low", 0), curve("high", 10), curve("middle", 5), curve("bottom", 0)}});
  EXPECT_LT(height_of(svg, "high"), height_of(svg, "middle"));
  EXPECT_LT(height_of(svg, "middle"), height_of(svg, "low"));
  EXPECT_NEAR(height_of(svg, "middle"), (height_of(svg, "10") + height_of(svg, "0")) / 2, 1);
  EXPECT_GE(height_of(svg, "bottom") - height_of(svg, "low"), 15);  // a line of text
}

TEST(Plot, LongNamesBelowTheAxisAreTilted) {
  Plot plot{.title = {},
            .x = {.label = "flow", .scale = Scale::category, .categories = {"a", "b"}},
            .y = {.label = "y"},
            .curves = {{.name = "c", .points = {{0, 1, {}, {}}, {1, 2, {}, {}}}}}};
  EXPECT_EQ(all_of(to_svg(plot), "rotate(-30").size(), 0U);
  plot.x.categories = {std::string(60, 'a'), "b"};
  const std::string svg = to_svg(plot);
  EXPECT_EQ(all_of(svg, "rotate(-30").size(), 2U);
  EXPECT_GT(height_of(svg, "flow"), height_of(svg, "b"));
}

TEST(Plot, NarrowPlotsHaveTheirLegendBelowAndLinesThatFit) {
  const Plot plot{.title = "Throughput of many messages over a path of 380 km, by message size",
                  .x = {.label = "size", .scale = Scale::binary},
                  .y = {.label = "rate"},
                  .curves = {{.name = "first", .points = {{2, 1, {}, {}}, {1 << 20, 9, {}, {}}}},
                             {.name = "second", .points = {{2, 2, {}, {}}}}}};
  const std::string svg = to_narrow_svg(plot);
  EXPECT_NE(svg.find("viewBox=\"0 0 330 "), std::string::npos);
  EXPECT_EQ(svg.find(plot.title), std::string::npos);  // in two lines
  EXPECT_GT(height_of(svg, "first"), height_of(svg, "size"));
  EXPECT_GT(height_of(svg, "second"), height_of(svg, "first"));
  EXPECT_LT(height_of(svg, "rate"), height_of(svg, "10"));
  for (const std::string& x : values_of(svg, "x")) EXPECT_LT(std::stod(x), 330) << svg;
}

}  // namespace
}  // namespace lw::report
