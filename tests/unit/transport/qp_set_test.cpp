// SPDX-License-Identifier: BSD-3-Clause
#include <deque>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/qp_scheduler.h"

namespace lw::transport {
namespace {

using testing::ElementsAre;

class IdleQps final : public QpSet {
 public:
  bool post(std::uint32_t qp, const WorkRequest& request, Instant now) override {
    return this->qp(qp).post(request, now);
  }
};

TEST(QpSet, GivesTheLowestFreeIndex) {
  Memory memory(Memory::Kind::virtual_only, 0, 1 << 20, 1);
  PayloadStore store;
  std::deque<QueuePair> pairs;
  IdleQps qps;
  const auto attach = [&] { return qps.attach(pairs.emplace_back(QpConfig{}, memory, store), 0); };
  std::vector<std::uint32_t> given;
  for (int i = 0; i < 4; ++i) given.push_back(attach());
  EXPECT_THAT(given, ElementsAre(0, 1, 2, 3));
  qps.detach(2);
  qps.detach(0);
  EXPECT_EQ(attach(), 0);
  qps.detach(1);
  EXPECT_EQ(attach(), 1);
  EXPECT_EQ(attach(), 2);
  EXPECT_EQ(attach(), 4);
  EXPECT_EQ(qps.qps(), 5);
}

}  // namespace
}  // namespace lw::transport
