// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/link_load.h"

#include <gtest/gtest.h>

namespace lw::analysis {
namespace {

std::uint32_t rows_left = 1'000'000;

/// Packets of 1,226 bytes (with what the link adds: 1,250, so 10 kb), one each so many ns.
LinkLoad load_of(std::uint32_t hosts, std::uint32_t packets, std::int64_t ns) {
  LinkLoad load;
  for (std::uint32_t i = 0; i < packets; ++i)
    load.add(i % hosts, Instant{Duration{ns * i}}, 1226, rows_left);
  return load;
}

TEST(LinkLoad, TheHighestRateIsThatOfPacketsInARow) {
  EXPECT_EQ(load_of(1, 16, 100).most(), 0);
  EXPECT_DOUBLE_EQ(load_of(1, 17, 100).most(), 100e9);
}

TEST(LinkLoad, RowsOfSeveralHostsAreBusy) {
  EXPECT_EQ(load_of(3, 257, 100).busy_packets(100e9), 256U);
  EXPECT_EQ(load_of(3, 257, 100).busy_packets(200e9), 0U);
}

TEST(LinkLoad, OneHostFillsItsOwnLink) { EXPECT_EQ(load_of(1, 257, 100).busy_packets(100e9), 0U); }

TEST(LinkLoad, PausesMakeARowLessBusy) {
  LinkLoad load = load_of(3, 64, 100);
  for (std::uint32_t i = 64; i < 257; ++i)
    load.add(i % 3, Instant{Duration{300 * i}}, 1226, rows_left);
  EXPECT_DOUBLE_EQ(load.most(), 100e9);
  EXPECT_LE(load.busy_packets(load.most()), 64U);
}

TEST(LinkLoad, StampsMayGoBack) {
  LinkLoad load;
  for (std::uint32_t i = 0; i < 200; ++i)
    load.add(i % 2, Instant{Duration{-100 * std::int64_t{i}}}, 1226, rows_left);
  EXPECT_EQ(load.most(), 0);
  EXPECT_EQ(load.busy_packets(1e9), 0U);
}

TEST(LinkLoad, TheBusiestRowIsThatAroundAStamp) {
  LinkLoad load = load_of(1, 64, 100);
  for (std::uint32_t i = 64; i < 257; ++i)
    load.add(i % 2, Instant{Duration{1000 * i}}, 1226, rows_left);
  const auto full = load.busiest_around(Instant{Duration{1700}});
  ASSERT_TRUE(full);
  EXPECT_FLOAT_EQ(full->rate, 100e9F);
  EXPECT_FALSE(full->several);
  const auto idle = load.busiest_around(Instant{Duration{200'000}});
  ASSERT_TRUE(idle);
  EXPECT_FLOAT_EQ(idle->rate, 10e9F);
  EXPECT_TRUE(idle->several);
}

TEST(LinkLoad, RowsBeyondTheRoomAreNotKept) {
  std::uint32_t few = 2;
  LinkLoad load;
  for (std::uint32_t i = 0; i < 65; ++i) load.add(0, Instant{Duration{100 * i}}, 1226, few);
  EXPECT_EQ(load.rows().size(), 2U);
  EXPECT_EQ(few, 0U);
}

}  // namespace
}  // namespace lw::analysis
