// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "core/chance.h"

namespace lw {
namespace {

using Block = std::array<std::uint32_t, 4>;

// Known answers for philox 4x32-10 from the authors' own distribution (Random123, kat_vectors).
TEST(Philox, ZeroesGiveThePublishedBlock) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
}

TEST(Philox, OnesGiveThePublishedBlock) {
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
}

TEST(Philox, DigitsOfPiGiveThePublishedBlock) {
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

}  // namespace
}  // namespace lw
