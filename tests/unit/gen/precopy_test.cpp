// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include "gen/experiment/vm_migration.h"

namespace lw::gen::experiment {
namespace {

/// 10 GB/s of writing in passes of 10 GB, a second's pause: a cycle of two seconds.
Stress busy() { return {.working_set = 10e9, .write_rate = 10e9, .pause_s = 1}; }

TEST(Stress, TouchesWhatItWritesAndNothingInItsPause) {
  const Stress stress = busy();
  EXPECT_DOUBLE_EQ(stress.cycle_s(), 2);
  EXPECT_DOUBLE_EQ(stress.touched(0, 0.5), 5e9);
  EXPECT_DOUBLE_EQ(stress.touched(0.5, 1.5), 5e9);
  EXPECT_DOUBLE_EQ(stress.touched(1.2, 1.9), 0);
  EXPECT_DOUBLE_EQ(stress.touched(1.5, 2.25), 2.5e9);
  EXPECT_DOUBLE_EQ(stress.touched(0.3, 2.3), 10e9);  // a whole cycle: everything, once
  EXPECT_DOUBLE_EQ(stress.touched(7, 100), 10e9);
  EXPECT_DOUBLE_EQ(Stress{}.touched(0, 1), 0);
}

TEST(Precopy, AnIdleGuestTakesItsDiskAndItsMemory) {
  const PrecopyResult result = migrate({.disk_bytes = 100e9,
                                        .disk_rate = 1e9,
                                        .used_bytes = 4e9,
                                        .rate = 2e9,
                                        .stress = {.working_set = 0, .write_rate = 1}});
  ASSERT_TRUE(result.total_s);
  EXPECT_DOUBLE_EQ(*result.total_s, 102);
  EXPECT_EQ(result.passes, 1U);
  EXPECT_DOUBLE_EQ(result.copied_bytes, 4e9);
}

TEST(Precopy, FasterThanTheGuestWritesItEnds) {
  const PrecopyResult result = migrate({.rate = 20e9, .downtime_s = 0.2, .stress = busy()});
  ASSERT_TRUE(result.total_s);
  // 10 GB in half a second, while 5 GB are written anew; those in a quarter, while 2.5 are; which
  // fit into 0.2 s of downtime.
  EXPECT_EQ(result.passes, 2U);
  EXPECT_DOUBLE_EQ(result.copied_bytes, 17.5e9);
  EXPECT_DOUBLE_EQ(*result.total_s, 0.875);
}

TEST(Precopy, SlowerThanTheGuestWritesItNeverEnds) {
  const PrecopyResult result = migrate({.rate = 4e9, .stress = busy()});  // 2.5 s a pass
  EXPECT_FALSE(result.total_s);
  EXPECT_EQ(result.passes, 241U);  // in 600 s, and the one under way then
}

TEST(Precopy, APauseLetsItEnd) {
  // A pass takes 1.5 s of the cycle's 2: a quarter is not written meanwhile, and less each time.
  EXPECT_TRUE(migrate({.rate = 10e9 / 1.5, .stress = busy()}).total_s);
}

}  // namespace
}  // namespace lw::gen::experiment
