// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/pacer.h"

#include <gtest/gtest.h>

namespace lw::gen {
namespace {

using config::Rate;

TEST(Pacer, RoundingNeverAddsUp) {
  Pacer pacer({Rate::Unit::frames, 3000}, 1);
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    ASSERT_EQ(pacer.due().count(), i * 1'000'000'000 / 3000);
    pacer.advance(1000);
  }
}

TEST(Pacer, AStepIsRoundedUpByLessThanItsLastBit) {
  // 1e9 / rate, by whole numbers where the rate is one: step * rate is at or just above 1e9.
  constexpr FineTime kSecond = FineTime{1'000'000'000} << 64;
  for (const std::uint64_t rate :
       {1ull, 3ull, 3000ull, 976563ull, 1ull << 52, 100'000'000'001ull}) {
    const FineTime step = pacing_step(static_cast<double>(rate));
    EXPECT_GE(step * rate, kSecond) << rate;
    EXPECT_LT((step - 1) * rate, kSecond) << rate;
  }
  EXPECT_EQ(whole_ns(pacing_step(0.25)), 4'000'000'000);
  EXPECT_EQ(whole_ns(pacing_step(1e-300)), kLongestNs);
}

TEST(Pacer, BitsCountAllThatTheWireCarries) {
  // 4178 B at 100 Gb/s: 334.24 ns each.
  Pacer pacer({Rate::Unit::wire_bits, 100e9}, 1);
  for (int i = 0; i < 100; ++i) pacer.advance(4178);
  EXPECT_EQ(pacer.due(), Duration(33424));
}

TEST(Pacer, ABurstIsDueAtOnceAndTheMeanStays) {
  Pacer pacer({Rate::Unit::wire_bits, 8e9}, 4);  // a byte a nanosecond
  std::vector<std::int64_t> due;
  for (int i = 0; i < 9; ++i) {
    due.push_back(pacer.due().count());
    pacer.advance(100);
  }
  EXPECT_EQ(due, (std::vector<std::int64_t>{0, 0, 0, 0, 400, 400, 400, 400, 800}));
  EXPECT_EQ(pacer.span(), Duration(900));
}

TEST(Pacer, AnAbsurdlySlowRateIsNoOverflow) {
  Pacer pacer({Rate::Unit::wire_bits, 1e-300}, 1);
  pacer.advance(100);
  EXPECT_GT(pacer.due(), std::chrono::years(199));
}

}  // namespace
}  // namespace lw::gen
