// SPDX-License-Identifier: BSD-3-Clause
// Ranges against a set of single numbers, also at both ends of 64 bits.
#include "analysis/extraction/ranges.h"

#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/extraction/transfer.h"

namespace lw::analysis::ranges_test {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

class RangesFrom : public testing::TestWithParam<std::uint64_t> {};

TEST_P(RangesFrom, AreWhatASetOfNumbersIs) {
  constexpr std::uint64_t kNumbers = 64;
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    Ranges ranges;
    std::set<std::uint64_t> truth;
    for (int step = 0; step < 20; ++step) {
      const std::uint64_t first = GetParam() + random() % kNumbers;
      const std::uint64_t most = GetParam() + (kNumbers - 1);
      const Range range{first, std::min(most - first, std::uint64_t{random() % 9}) + first};
      const bool adds = random() % 4 != 0;
      adds ? ranges.add(range, 1) : ranges.remove(range);
      for (std::uint64_t i = 0; i < range.length(); ++i) {
        if (adds) truth.insert(range.first + i);
        if (!adds) truth.erase(range.first + i);
      }
    }
    std::set<std::uint64_t> found, missing;
    std::uint64_t before = 0;
    for (const auto& [first, part] : ranges.parts()) {
      EXPECT_TRUE(found.empty() || first > before + 1) << "ranges touch";
      for (std::uint64_t i = 0; i <= part.last - first; ++i) found.insert(first + i);
      before = part.last;
    }
    EXPECT_EQ(found, truth);
    EXPECT_EQ(ranges.count(), truth.size());
    const Range all = Range::of(GetParam(), kNumbers);
    for (const Range& range : ranges.missing_in(all))
      for (std::uint64_t i = 0; i < range.length(); ++i) missing.insert(range.first + i);
    EXPECT_EQ(missing.size() + found.size(), kNumbers);
    for (const std::uint64_t number : missing) EXPECT_FALSE(truth.contains(number));
  }
}

INSTANTIATE_TEST_SUITE_P(EndsAndMiddle, RangesFrom,
                         testing::Values(0, 1u << 20, kMost - 63, (kMost >> 1) - 5));

TEST(RangesOf64Bits, KnowTheFramesThatMadeThem) {
  Ranges ranges;
  ranges.add({10, 19}, 5);
  ranges.add({30, 39}, 3);
  ranges.add({20, 29}, 9);
  ASSERT_EQ(ranges.size(), 1u);
  const auto& [first, part] = *ranges.parts().begin();
  EXPECT_EQ(first, 10u);
  EXPECT_EQ(part.last, 39u);
  EXPECT_EQ(part.first_frame, 3u);
  EXPECT_EQ(part.last_frame, 9u);
  EXPECT_EQ(part.additions, 3u);
  EXPECT_TRUE(ranges.touches({40, 50}));
  EXPECT_FALSE(ranges.touches({41, 50}));
}

TEST(RangesOf64Bits, CountTheRoomBehindANumber) {
  EXPECT_EQ(room_behind(0, kMost), kMost);
  EXPECT_EQ(room_behind(kMost, 5), 1u);
  EXPECT_EQ(room_behind(kMost - 4, 5), 5u);
  EXPECT_EQ(room_behind(kMost - 4, 6), 5u);
}

TEST(PlacedBytesOfATransfer, AreThoseThatCame) {
  PlacedBytes placed;
  placed.add(0, 100, 1);
  EXPECT_THAT(placed.missing_in(50, 100), ElementsAre(Range{100, 149}));
  placed.add(200, 100, 2);
  EXPECT_THAT(placed.missing_in(0, 400), ElementsAre(Range{100, 199}, Range{300, 399}));
  placed.add(100, 100, 3);
  EXPECT_THAT(placed.missing_in(0, 300), ElementsAre());
  EXPECT_THAT(placed.missing_in(299, 2), ElementsAre(Range{300, 300}));
}

TEST(TransferLogOfADirection, ForgetsTheOldest) {
  std::size_t most = 4;
  std::vector<Sequence> forgotten;
  TransferLog log(most, [&](const Transfer& transfer) { forgotten.push_back(transfer.psn); });
  for (const Sequence psn : {10, 20, 30, 40, 50}) log.add({.psn = psn, .span = 5});
  EXPECT_THAT(forgotten, ElementsAre(10));
  EXPECT_EQ(log.find(12), nullptr);
  ASSERT_NE(log.find(24), nullptr);
  EXPECT_EQ(log.find(24)->psn, 20u);
  EXPECT_EQ(log.find(25), nullptr);
  EXPECT_TRUE(log.add({.psn = 5, .span = 5}).old) << "behind what was forgotten";
  EXPECT_THAT(forgotten, ElementsAre(10, 20));
  most = 2;
  EXPECT_FALSE(log.add({.psn = 60, .span = 5}).old);
  EXPECT_THAT(forgotten, ElementsAre(10, 20, 5, 30, 40));
  log.clear();
  EXPECT_EQ(forgotten.size(), 7u);
}

}  // namespace
}  // namespace lw::analysis::ranges_test
