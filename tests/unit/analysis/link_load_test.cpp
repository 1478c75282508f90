// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/link_load.h"

#include <gtest/gtest.h>

namespace lw::analysis {
namespace {

/// Packets of 1,226 bytes (with what the link adds: 1,250, so 10 kb), one each so many ns.
LinkLoad load_of(std::uint32_t hosts, std::uint32_t packets, std::int64_t ns) {
  LinkLoad load;
  for (std::uint32_t i = 0; i < packets; ++i) load.add(i % hosts, Instant{Duration{ns * i}}, 1226);
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
  for (std::uint32_t i = 64; i < 257; ++i) load.add(i % 3, Instant{Duration{300 * i}}, 1226);
  EXPECT_DOUBLE_EQ(load.most(), 100e9);
  EXPECT_LE(load.busy_packets(load.most()), 64U);
}

TEST(LinkLoad, StampsMayGoBack) {
  LinkLoad load;
  for (std::uint32_t i = 0; i < 200; ++i)
    load.add(i % 2, Instant{Duration{-100 * std::int64_t{i}}}, 1226);
  EXPECT_EQ(load.most(), 0);
  EXPECT_EQ(load.busy_packets(1e9), 0U);
}

}  // namespace
}  // namespace lw::analysis
