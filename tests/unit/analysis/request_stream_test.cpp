// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/request_stream.h"

#include <gtest/gtest.h>

namespace lw::analysis::request_stream_test {
namespace {

class NoResults final : public Results {
 public:
  void found(const Anomaly&) override {}
  void completed(const Message&) override {}
};

class Learning : public testing::Test {
 protected:
  /// A READ of 8 KiB with the next PSN, as far as is known.
  void read() {
    CapturedPacket packet;
    packet.number = ++number;
    packet.stamp = stamp += std::chrono::microseconds{10};
    packet.info = wire::find_opcode(12);
    packet.psn = psn_of(stream.next());
    packet.dma_length = 8192;
    packet.has_reth = true;
    stream.request(packet);
  }

  NoResults results;
  FindingLog log;
  std::uint64_t number = 0;
  Instant stamp{};
  StreamSetup setup;
  RequestStream stream{setup, results, log};
};

TEST_F(Learning, TheMtuHoldsForTheReadsThatFollow) {
  read();
  const Sequence second = stream.next();
  setup.mtu = 1024;
  stream.learn(setup);
  read();
  EXPECT_EQ(stream.next() - second, 8U);
}

TEST_F(Learning, ASchemeThatShowsLaterHolds) {
  read();
  EXPECT_FALSE(stream.facts().selective);
  EXPECT_FALSE(stream.facts().goes_back);
  setup.scheme = RecoveryScheme::selective;
  setup.round_trip = std::chrono::microseconds{20};
  stream.learn(setup);
  EXPECT_TRUE(stream.facts().selective);
  EXPECT_EQ(stream.facts().round_trip, std::chrono::microseconds{20});
  setup.scheme = RecoveryScheme::go_back_n;
  stream.learn(setup);
  EXPECT_FALSE(stream.facts().selective);
  EXPECT_TRUE(stream.facts().goes_back);
}

TEST_F(Learning, AnswersOfOtherConnectionsTellTheLeastRoundTrip) {
  read();
  EXPECT_FALSE(stream.facts().least_rtt);
  setup.answer_time = std::chrono::microseconds{7};
  stream.learn(setup);
  EXPECT_EQ(stream.facts().least_rtt, std::chrono::microseconds{7});
}

}  // namespace
}  // namespace lw::analysis::request_stream_test
