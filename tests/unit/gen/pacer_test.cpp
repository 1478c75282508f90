// SPDX-License-Identifier: BSD-3-Clause
#include "gen/pacer.h"

#include <gtest/gtest.h>

namespace lw::gen {
namespace {

using profile::Rate;

TEST(Pacer, RoundingNeverAddsUp) {
  Pacer pacer({Rate::Unit::frames, 3000}, 1);
  for (std::int64_t i = 0; i < 1'000'000; ++i) {
    ASSERT_EQ(pacer.due().count(), i * 1'000'000'000 / 3000);
    pacer.advance(1000);
  }
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
