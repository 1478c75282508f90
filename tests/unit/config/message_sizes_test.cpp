// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "config/flow/message.h"

namespace lw::config {
namespace message_sizes_test {

constexpr int kDraws = 100'000;

/// The largest distance between the draws' distribution and `expected`, at some points.
double distance(const MessageSizes& sizes, std::vector<std::pair<std::uint64_t, double>> expected) {
  const Chance chance(7, hash_name("x"));
  std::vector<int> below(expected.size());
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t size = sizes.draw(chance, static_cast<std::uint64_t>(i));
    for (std::size_t k = 0; k < expected.size(); ++k) below[k] += size <= expected[k].first;
  }
  double worst = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    worst = std::max(worst, std::abs(below[k] / double{kDraws} - expected[k].second));
  }
  return worst;
}

/// Kolmogorov and Smirnov: farther than this with a chance of 1e-6.
const double kBound = std::sqrt(std::log(2e6) / (2.0 * kDraws));

TEST(MessageSizes, AListIsGoneThroughInTurn) {
  const auto sizes = MessageSizes::listed({10, 30, 20});
  const Chance chance(1, 2);
  EXPECT_EQ(sizes.draw(chance, 0), 10u);
  EXPECT_EQ(sizes.draw(chance, 4), 30u);
  EXPECT_EQ(sizes.smallest(), 10u);
  EXPECT_EQ(sizes.largest(), 30u);
}

TEST(MessageSizes, UniformReachesBothEnds) {
  const auto sizes = MessageSizes::uniform(5, 8);
  EXPECT_LT(distance(sizes, {{4, 0}, {5, 0.25}, {6, 0.5}, {7, 0.75}, {8, 1}}), kBound);
}

TEST(MessageSizes, ADistributionIsFollowed) {
  const auto sizes = parse_size_distribution("# x\nsize_bytes,cdf\n100,0.5\n200,0.5\n300,1\n");
  ASSERT_TRUE(sizes) << sizes.error();
  EXPECT_EQ(sizes->smallest(), 100u);
  EXPECT_EQ(sizes->largest(), 300u);
  EXPECT_LT(distance(*sizes, {{99, 0}, {100, 0.5}, {200, 0.5}, {250, 0.75}, {300, 1}}), kBound);
}

TEST(MessageSizes, WrongFilesAreRefusedWithTheirLine) {
  for (const auto* bad : {"", "1,0.5\n", "1,0.5\n1,1\n", "2,0.5\n1,1\n", "1,0.5\n2,0.4\n", "1;1\n",
                          "1,nan\n", "1,2\n", "-1,1\n", "x,1\n"}) {
    EXPECT_FALSE(parse_size_distribution(bad)) << bad;
  }
  EXPECT_EQ(parse_size_distribution("5,0.1\nx\n").error(),
            "line 2: expected size_bytes,cdf such as 10000,0.15, found \"x\"");
}

TEST(MessageSizes, TheShippedOnesHaveThePublishedMeans) {
  const std::filesystem::path source = std::getenv("LONGWIRE_SOURCE");
  const auto mean = [&](const char* name) {
    const auto sizes = load_size_distribution(source / "profiles/flows/sizes" / name);
    EXPECT_TRUE(sizes);
    double sum = 0;
    for (const auto size : sizes->representatives()) sum += static_cast<double>(size);
    return sum / static_cast<double>(sizes->representatives().size());
  };
  // By hand, from the trapezoids of the three files.
  EXPECT_NEAR(mean("web-search.csv"), 1'711'250, 500);
  EXPECT_NEAR(mean("hadoop.csv"), 120'421, 100);
  EXPECT_NEAR(mean("storage.csv"), 40'870, 50);
}

}  // namespace message_sizes_test
}  // namespace lw::config
