// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/thin_series.h"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace lw::dissect::test {
namespace {

constexpr std::size_t kMost = 100;

std::uint64_t points_behind(const std::vector<SeriesPoint>& points) {
  return std::accumulate(points.begin(), points.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const SeriesPoint& one) { return sum + one.count; });
}

/// Some numbers that look random, the same in each run.
std::int64_t noise(std::int64_t number, std::int64_t below) {
  std::uint64_t mixed = static_cast<std::uint64_t>(number) * 0x9e3779b97f4a7c15;
  mixed ^= mixed >> 29;
  mixed *= 0xbf58476d1ce4e5b9;
  return static_cast<std::int64_t>(mixed >> 33) % below;
}

TEST(ThinSeries, FewPointsStayInTheOrderOfTime) {
  ThinSeries series(kMost);
  EXPECT_EQ(series.add({.time = 20, .value = 1, .frame = 1}), 1);
  EXPECT_EQ(series.add({.time = 10, .value = 2, .frame = 2}), 1);
  const std::vector<SeriesPoint> expected{{.time = 10, .value = 2, .frame = 2},
                                          {.time = 20, .value = 1, .frame = 1}};
  EXPECT_EQ(series.points(), expected);
  EXPECT_EQ(series.added(), 2U);
}

TEST(ThinSeries, KeepsExtremesEndsAndNumberOfManyPoints) {
  ThinSeries series(kMost);
  constexpr std::int64_t kPoints = 50'000;
  std::ptrdiff_t kept = 0;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    const std::int64_t value = i == 31'234 ? 5000 : i == 777 ? -5000 : noise(i, 1000);
    kept += series.add({.time = i * 10, .value = value, .frame = static_cast<std::uint64_t>(i)});
    ASSERT_LT(series.kept(), 2 * kMost);
    ASSERT_EQ(static_cast<std::ptrdiff_t>(series.kept()), kept);
  }
  const auto points = series.points();
  EXPECT_LE(points.size(), kMost);
  EXPECT_EQ(points.front().time, 0);
  EXPECT_EQ(points.back().time, (kPoints - 1) * 10);
  const auto [least, greatest] = std::ranges::minmax(points, {}, &SeriesPoint::value);
  EXPECT_EQ(least.frame, 777U);
  EXPECT_EQ(greatest.frame, 31'234U);
  EXPECT_TRUE(std::ranges::is_sorted(points, {}, &SeriesPoint::time));
  EXPECT_EQ(points_behind(points), static_cast<std::uint64_t>(kPoints));
}

/// Bursts with long silence between them: intervals of time alone would leave two points of each.
TEST(ThinSeries, KeepsTheShapeOfBursts) {
  ThinSeries series(kMost);
  for (std::int64_t burst = 0; burst < 4; ++burst)
    for (std::int64_t i = 0; i < 5000; ++i)
      series.add({.time = burst * 1'000'000'000 + i, .value = burst * 5000 + i});
  const auto points = series.points();
  for (std::int64_t burst = 0; burst < 4; ++burst) {
    const auto in_burst = std::ranges::count_if(
        points, [&](const SeriesPoint& point) { return point.time / 1'000'000'000 == burst; });
    EXPECT_GE(in_burst, 8) << burst;
  }
}

TEST(ThinSeries, TakesExtremeTimes) {
  ThinSeries series(8);
  constexpr std::int64_t kFar = std::int64_t{1} << 61;
  for (std::int64_t i = 0; i < 1000; ++i)
    series.add({.time = i % 2 == 0 ? kFar - i : -kFar + i, .value = i});
  EXPECT_LE(series.points().size(), 8U);
  EXPECT_EQ(series.added(), 1000U);
}

TEST(IntervalSums, AddUpWhateverTheirWidth) {
  IntervalSums sums;
  std::array<std::uint64_t, 2> added{};
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const auto amount = static_cast<std::uint64_t>(noise(i, 4096));
    sums.add(5'000'000 + noise(i, 50) * i, static_cast<std::size_t>(i % 2), amount);
    added[static_cast<std::size_t>(i % 2)] += amount;
  }
  sums.add(-9, 2, 7);  // before the first one
  ASSERT_LE(sums.sums().size(), IntervalSums::kMostIntervals);
  std::array<std::uint64_t, 3> found{};
  for (const IntervalSums::Sums& one : sums.sums())
    for (std::size_t kind = 0; kind < 3; ++kind) found[kind] += one[kind];
  EXPECT_EQ(found[0], added[0]);
  EXPECT_EQ(found[1], added[1]);
  EXPECT_EQ(sums.sums().front()[2], 7U);
  EXPECT_EQ(sums.begin(), 5'000'000);
  EXPECT_GE(sums.begin() + sums.width() * static_cast<std::int64_t>(sums.sums().size()),
            5'000'000 + std::int64_t{49} * 90'000);
}

}  // namespace
}  // namespace lw::dissect::test
