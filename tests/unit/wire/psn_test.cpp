// SPDX-License-Identifier: BSD-3-Clause
#include "wire/psn.h"

#include <gtest/gtest.h>

namespace lw::wire {
namespace {

TEST(PsnArithmetic, WrapsAt24Bits) {
  EXPECT_EQ(Psn{0xffffff} + 1, Psn{0});
  EXPECT_EQ(Psn{0} - 1, Psn{0xffffff});
  EXPECT_EQ(Psn{0x1000005}, Psn{5});
  Psn psn{0xffffff};
  EXPECT_EQ(++psn, Psn{0});
}

TEST(PsnArithmetic, DistanceIsSignedAndShortest) {
  EXPECT_EQ(Psn::distance(Psn{5}, Psn{5}), 0);
  EXPECT_EQ(Psn::distance(Psn{0xfffffe}, Psn{3}), 5);
  EXPECT_EQ(Psn::distance(Psn{3}, Psn{0xfffffe}), -5);
  EXPECT_EQ(Psn::distance(Psn{0}, Psn{0x7fffff}), 0x7fffff);
  EXPECT_EQ(Psn::distance(Psn{0}, Psn{0x800000}), -0x800000);
}

}  // namespace
}  // namespace lw::wire
