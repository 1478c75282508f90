// SPDX-License-Identifier: BSD-3-Clause
#include "core/chance.h"

#include <bit>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace lw {
namespace {

TEST(Chance, ADrawIsAddressedNotStreamed) {
  const Chance chance(1, hash_name("loss"));
  const auto fifth = chance.bits(5);
  static_cast<void>(chance.bits(1));
  EXPECT_EQ(chance.bits(5), fifth);
  EXPECT_EQ(Chance(1, hash_name("loss")).bits(5), fifth);
}

TEST(Chance, SeedDomainIndexAndDrawAllMatter) {
  const auto base = Chance(1, 2).bits(3, 4);
  EXPECT_NE(Chance(2, 2).bits(3, 4), base);
  EXPECT_NE(Chance(1, 3).bits(3, 4), base);
  EXPECT_NE(Chance(1, 2).bits(4, 4), base);
  EXPECT_NE(Chance(1, 2).bits(3, 5), base);
}

/// Whatever the processor draws many at a time with.
TEST(Chance, ManyDrawsAreThoseOneByOne) {
  const Chance chance(3, 9);
  for (const std::uint64_t first : {0UL, 0xfffffff0UL, 0x1234567fffffffffUL, ~0UL - 5}) {
    for (const std::size_t count : {0U, 1U, 15U, 16U, 33U, 100U}) {
      std::vector<std::uint64_t> many(count);
      chance.bits(first, 0x100000002, many);
      for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(many[i], chance.bits(first + i, 0x100000002)) << first << " + " << i;
    }
  }
}

/// Each bit is set half of the time: 5 standard deviations of a binomial of 20,000 draws.
TEST(Chance, BitsAreFair) {
  const Chance chance(42, 0);
  constexpr int kDraws = 20'000;
  std::array<int, 64> ones{};
  for (int i = 0; i < kDraws; ++i) {
    const auto bits = chance.bits(static_cast<std::uint64_t>(i));
    for (std::size_t b = 0; b < 64; ++b) ones[b] += static_cast<int>(bits >> b & 1);
  }
  const double bound = 5 * std::sqrt(kDraws * 0.25);
  for (const int count : ones) EXPECT_NEAR(count, kDraws / 2, bound);
}

TEST(Threshold, HitsWithItsProbability) {
  const Chance chance(7, 1);
  constexpr int kDraws = 1'000'000;
  for (const double p : {1e-4, 1e-3, 0.1, 0.5, 0.999}) {
    const Threshold threshold(p);
    int hits = 0;
    for (int i = 0; i < kDraws; ++i)
      hits += threshold.hit(chance.bits(static_cast<std::uint64_t>(i)));
    EXPECT_NEAR(hits, kDraws * p, 5 * std::sqrt(kDraws * p * (1 - p))) << p;
  }
}

TEST(Threshold, NeverAndAlwaysAreExact) {
  EXPECT_FALSE(Threshold(0).hit(0));
  EXPECT_TRUE(Threshold(1).hit(~std::uint64_t{0}));
  // 1e-9 of 2^64 is 18446744073.7: the resolution that a resolution of 1e-9 needs, and more.
  EXPECT_TRUE(Threshold(1e-9).hit(18446744072));
  EXPECT_FALSE(Threshold(1e-9).hit(18446744074));
}

}  // namespace
}  // namespace lw
