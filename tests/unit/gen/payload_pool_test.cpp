// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include <gtest/gtest.h>

#include "gen/traffic/template_set.h"

namespace lw::gen {
namespace {

using config::Pattern;
using config::Payload;

std::string text_of(wire::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(PayloadPool, MakesThePatterns) {
  PayloadPool pool(1);
  EXPECT_EQ(text_of(pool.get({Pattern::zeros, {}}, 3)), std::string(3, '\0'));
  EXPECT_EQ(text_of(pool.get({Pattern::text, "abc"}, 7)), "abcabca");
  const auto counter = pool.get({Pattern::counter, {}}, 4096);
  for (std::size_t i = 0; i < counter.size(); ++i) {
    ASSERT_EQ(std::to_integer<std::size_t>(counter[i]), i & 0xff);
  }
}

TEST(PayloadPool, SharesOneStretchAPattern) {
  PayloadPool pool(1);
  const Payload counter{Pattern::counter, {}};
  EXPECT_EQ(pool.get(counter, 10).data(), pool.get(counter, 4096).data());
}

int bit_of(wire::Bytes bytes, std::size_t n) {
  return std::to_integer<int>(bytes[n / 8]) >> (7 - n % 8) & 1;
}

/// ITU-T O.150, 5.8: each bit is the sum of those 31 and 28 places before it.
TEST(PayloadPool, Prbs31KeepsItsRecurrence) {
  PayloadPool pool(12345);
  const auto bytes = pool.get({Pattern::prbs31, {}}, 4096);
  int ones = 0;
  for (std::size_t n = 31; n < bytes.size() * 8; ++n) {
    ASSERT_EQ(bit_of(bytes, n), bit_of(bytes, n - 31) ^ bit_of(bytes, n - 28)) << n;
    ones += bit_of(bytes, n);
  }
  // 32737 fair coins: 16368 with a deviation of 90; six of them either way.
  EXPECT_NEAR(ones, 16368, 543);
}

TEST(PayloadPool, TheSeedDecidesWherePrbs31Starts) {
  PayloadPool one(1), same(1), other(2);
  const Payload prbs{Pattern::prbs31, {}};
  EXPECT_TRUE(std::ranges::equal(one.get(prbs, 64), same.get(prbs, 64)));
  EXPECT_FALSE(std::ranges::equal(one.get(prbs, 64), other.get(prbs, 64)));
}

}  // namespace
}  // namespace lw::gen
