// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/nak_log.h"

#include <gtest/gtest.h>

namespace lw::analysis {
namespace {

TEST(NakLog, ANakWithoutRecoveryIsOpen) {
  NakLog naks;
  naks.add({.psn = 5, .frame = 1});
  EXPECT_TRUE(naks.has_open_before(6, 5));
  EXPECT_FALSE(naks.has_open_before(5, 5));
  naks.use(1);
  EXPECT_FALSE(naks.has_open_before(6, 5));
}

TEST(NakLog, ANakIsNotOpenOnceWhatFollowsItIsAcknowledged) {
  NakLog naks;
  naks.add({.psn = 5, .frame = 1});
  EXPECT_TRUE(naks.has_open_before(9, 6));  // its packet has come late
  EXPECT_FALSE(naks.has_open_before(9, 7));
}

TEST(NakLog, ARepeatedNakIsNotOpen) {
  NakLog naks;
  naks.add({.psn = 5, .frame = 1, .used = true});
  naks.add({.psn = 5, .frame = 2});  // the recovery is on its way
  EXPECT_FALSE(naks.has_open_before(6, 5));
  naks.add({.psn = 4, .frame = 3});
  EXPECT_TRUE(naks.has_open_before(6, 5));
}

TEST(NakLog, ANakThatWasAnsweredInErrorIsOpenOnceMore) {
  NakLog naks;
  naks.add({.psn = 5, .frame = 1});
  naks.use(1);
  EXPECT_EQ(naks.asking_for(5, 5), nullptr);
  EXPECT_TRUE(naks.reopen(1));
  ASSERT_NE(naks.asking_for(5, 5), nullptr);
  EXPECT_EQ(naks.asking_for(5, 5)->frame, 1U);
  EXPECT_FALSE(naks.reopen(1));  // it is open
  EXPECT_FALSE(naks.reopen(2));  // no NAK is in this frame
}

}  // namespace
}  // namespace lw::analysis
