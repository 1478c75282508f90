// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/upper/kept_payloads.h"

#include <cstring>

#include <gtest/gtest.h>

namespace lw::dissect {
namespace kept_payloads_test {

/// Bytes of a frame that no other frame has.
std::vector<std::byte> bytes_of(std::uint64_t number, std::size_t length) {
  std::vector<std::byte> bytes(length, static_cast<std::byte>(number * 7));
  if (length > 0) std::memcpy(bytes.data(), &number, std::min(length, sizeof number));
  return bytes;
}

bool are_bytes_of(std::span<const std::byte> found, std::uint64_t number, std::size_t length) {
  return std::ranges::equal(found, bytes_of(number, length));
}

TEST(KeptPayloads, GivesTheBytesOfEachFrameAndForgetsEarlierOnes) {
  KeptPayloads kept;
  for (std::uint64_t number = 1; number <= 3000; ++number)
    kept.keep(number, bytes_of(number, number % 700));
  for (std::uint64_t number = 1; number <= 3000; number += 1 + number % 3)
    ASSERT_TRUE(are_bytes_of(kept.of(number), number, number % 700)) << number;
  EXPECT_TRUE(kept.of(2).empty());
  EXPECT_LE(kept.size(), 3U);
}

TEST(KeptPayloads, UsesItsMemoryAgainWhileFramesComeAndGo) {
  KeptPayloads kept;
  const auto keep = [&](std::uint64_t number) { kept.keep(number, bytes_of(number, 1024)); };
  for (std::uint64_t number = 1; number < 50'000; ++number) {
    keep(number);
    // Sometimes none is left, sometimes some hundreds are.
    const std::uint64_t behind = number % 1000 < 500 ? 0 : 200;
    if (number <= behind) continue;
    const auto found = kept.of(number - behind);
    const bool is_right = found.empty() || are_bytes_of(found, number - behind, 1024);
    ASSERT_TRUE(is_right) << number;
    if (behind == 0) kept.forget_oldest();
    ASSERT_LE(kept.size(), 201U);
  }
}

TEST(KeptPayloads, CutsWhatIsLongerThanABlock) {
  KeptPayloads kept;
  kept.keep(1, bytes_of(1, KeptPayloads::kBlock + 5));
  EXPECT_EQ(kept.of(1).size(), KeptPayloads::kBlock);
}

}  // namespace kept_payloads_test
}  // namespace lw::dissect
