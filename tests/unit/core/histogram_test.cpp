// SPDX-License-Identifier: BSD-3-Clause
#include "core/histogram.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/compact_histogram.h"

namespace lw {
namespace {

TEST(Histogram, IsEmptyAtFirst) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.quantile(0.5), 0);
  EXPECT_TRUE(histogram.occupied().empty());
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::int64_t v = 1; v <= 1000; ++v) histogram.add(v);
  EXPECT_EQ(histogram.quantile(0.5), 500);
  EXPECT_EQ(histogram.quantile(0.99), 990);
  EXPECT_EQ(histogram.quantile(1.0), 1000);
  EXPECT_EQ(histogram.quantile(0.0), 1);
  EXPECT_DOUBLE_EQ(histogram.mean(), 500.5);
}

/// Quantiles against those of the sorted values themselves.
TEST(Histogram, QuantilesAreWithinATenthOfAPercent) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> delays(14, 2);
  std::vector<std::int64_t> values;
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<std::int64_t>(delays(random)));
    histogram.add(values.back());
  }
  std::ranges::sort(values);
  for (const double q : {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 0.9999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * 100'000)) - 1;
    const auto exact = static_cast<double>(values[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.quantile(q)), exact, exact * 0.001) << q;
  }
  EXPECT_EQ(histogram.minimum(), values.front());
  EXPECT_EQ(histogram.maximum(), values.back());
}

TEST(Histogram, MergeIsTheSameAsAddingAll) {
  Histogram a, b, both;
  for (std::int64_t v = 0; v < 5000; v += 3) {
    (v % 2 ? a : b).add(v * v);
    both.add(v * v);
  }
  a.merge(b);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.minimum(), both.minimum());
  EXPECT_EQ(a.maximum(), both.maximum());
  for (const double q : {0.1, 0.5, 0.999}) EXPECT_EQ(a.quantile(q), both.quantile(q));
}

TEST(Histogram, ManyAtOnceAreTheSameAsEachByItself) {
  Histogram each, many;
  std::vector<Histogram::Sample> samples;
  for (std::int64_t v = -50; v < 5000; v += 7) samples.push_back({v * v * v, v % 5 == 0 ? 3u : 1u});
  for (const auto& [value, times] : samples) each.add(value, times);
  many.add(std::span(samples).first(300));
  many.add(std::span<const Histogram::Sample>());
  many.add(std::span(samples).subspan(300));
  EXPECT_EQ(each.count(), many.count());
  EXPECT_EQ(each.minimum(), many.minimum());
  EXPECT_EQ(each.maximum(), many.maximum());
  EXPECT_DOUBLE_EQ(each.mean(), many.mean());
  for (const double q : {0.01, 0.1, 0.5, 0.999}) EXPECT_EQ(each.quantile(q), many.quantile(q));
}

TEST(Histogram, TakesTheExtremes) {
  Histogram histogram;
  histogram.add(-5);
  histogram.add(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.minimum(), -5);
  EXPECT_EQ(histogram.maximum(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.quantile(0.1), 0);
}

TEST(Histogram, BucketsCoverTheirValues) {
  Histogram histogram;
  for (const std::int64_t v : {1023, 1024, 1025, 2047, 2048, 123'456'789}) histogram.add(v);
  std::uint64_t total = 0;
  for (const auto& bucket : histogram.occupied()) {
    EXPECT_LE(bucket.first, bucket.last);
    EXPECT_LE(static_cast<double>(bucket.last - bucket.first),
              static_cast<double>(bucket.first) * 0.001);
    total += bucket.count;
  }
  EXPECT_EQ(total, 6u);
}

TEST(Histogram, CountsUpToLimits) {
  std::mt19937_64 random(4);
  std::lognormal_distribution<double> delays(10, 4);
  Histogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<std::int64_t>(delays(random)));
    histogram.add(values.back());
  }
  const std::int64_t limits[] = {0, 1, 999, 1000, 1023, 1024, 50'000, 1'000'000, INT64_MAX};
  const auto counts = histogram.counts_up_to(limits);
  ASSERT_EQ(counts.size(), std::size(limits));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto up_to = [&](double limit) {
      return static_cast<std::uint64_t>(std::ranges::count_if(
          values, [&](std::int64_t value) { return static_cast<double>(value) <= limit; }));
    };
    const auto limit = static_cast<double>(limits[i]);
    EXPECT_GE(counts[i], up_to(limit)) << limits[i];
    EXPECT_LE(counts[i], up_to(limit * 1.001)) << limits[i];
  }
  EXPECT_EQ(Histogram{}.counts_up_to(limits), std::vector<std::uint64_t>(std::size(limits), 0));
}

/// After any number of values, few or many.
TEST(CompactHistogram, AnswersAsAHistogram) {
  std::mt19937_64 random(9);
  std::lognormal_distribution<double> delays(12, 3);
  CompactHistogram compact;
  Histogram histogram;
  for (int i = 0; i < 2 * static_cast<int>(CompactHistogram::kFew); ++i) {
    ASSERT_EQ(compact.count(), histogram.count());
    ASSERT_EQ(compact.minimum(), histogram.minimum()) << i;
    ASSERT_EQ(compact.maximum(), histogram.maximum()) << i;
    for (const double share : {0.0, 0.5, 0.9, 0.99, 1.0})
      ASSERT_EQ(compact.quantile(share), histogram.quantile(share)) << i << " values, " << share;
    const auto value = static_cast<std::int64_t>(delays(random));
    compact.add(value);
    histogram.add(value);
  }
}

}  // namespace
}  // namespace lw
