// SPDX-License-Identifier: BSD-3-Clause
#include "perf/config.h"

#include <gtest/gtest.h>

namespace lw::perf::config_test {
namespace {

using wire::Operation, wire::Transport;

PerfConfig run_of(Operation operation, Transport transport = Transport::rc) {
  PerfConfig config;
  config.operation = operation;
  config.qp.transport = transport;
  config.qp.mtu = 1024;
  config.size = 64;
  return config;
}

TEST(SizesOfTest, AreAllPowersOfTwoOrTheOneThatWasAskedFor) {
  const PerfConfig config = run_of(Operation::send);
  EXPECT_EQ(sizes_of(config, false), std::vector<std::uint32_t>{64});
  const std::vector<std::uint32_t> all = sizes_of(config, true);
  ASSERT_EQ(all.size(), 23U);
  EXPECT_EQ(all.front(), 2U);
  EXPECT_EQ(all[1], 4U);
  EXPECT_EQ(all.back(), 8U << 20);
}

TEST(SizesOfTest, AnAtomicHasEightBytes) {
  for (const auto operation : {Operation::fetch_add, Operation::cmp_swap})
    for (const bool all : {false, true})
      EXPECT_EQ(sizes_of(run_of(operation), all), std::vector<std::uint32_t>{8});
}

TEST(CheckTest, AnImmediateGoesWithDataOfTheRequester) {
  for (const auto& [operation, fits] : {std::pair{Operation::send, true},
                                        {Operation::write, true},
                                        {Operation::read_request, false},
                                        {Operation::fetch_add, false}}) {
    PerfConfig config = run_of(operation);
    EXPECT_TRUE(check(config, PerfPattern::bw));
    config.immediate = true;
    EXPECT_EQ(check(config, PerfPattern::bw).has_value(), fits);
  }
}

TEST(CheckTest, PatternsOfTheStudyLackSomeOperations) {
  EXPECT_TRUE(check(run_of(Operation::read_request), PerfPattern::blast));
  EXPECT_FALSE(check(run_of(Operation::cmp_swap), PerfPattern::blast));
  EXPECT_TRUE(check(run_of(Operation::send), PerfPattern::ping));
  EXPECT_FALSE(check(run_of(Operation::read_request), PerfPattern::ping));
}

TEST(CheckTest, MarginsLeaveSomeTimeBetweenThem) {
  PerfConfig config = run_of(Operation::write);
  config.duration = std::chrono::seconds(1);
  config.margin = std::chrono::milliseconds(499);
  EXPECT_TRUE(check(config, PerfPattern::bw));
  config.margin = std::chrono::milliseconds(500);
  EXPECT_FALSE(check(config, PerfPattern::bw));
}

TEST(CheckTest, BothWaysIsABandwidth) {
  PerfConfig config = run_of(Operation::write);
  config.both = true;
  EXPECT_TRUE(check(config, PerfPattern::bw));
  EXPECT_FALSE(check(config, PerfPattern::lat));
}

TEST(CheckTransportTest, UnreliableServicesCarryNoAnswers) {
  constexpr bool kAnswered = true;
  EXPECT_TRUE(check_transport(run_of(Operation::fetch_add), kAnswered));
  EXPECT_FALSE(check_transport(run_of(Operation::send, Transport::uc), kAnswered));
  EXPECT_TRUE(check_transport(run_of(Operation::send, Transport::uc), !kAnswered));
  EXPECT_TRUE(check_transport(run_of(Operation::write, Transport::uc), !kAnswered));
  EXPECT_FALSE(check_transport(run_of(Operation::read_request, Transport::uc), !kAnswered));
  EXPECT_FALSE(check_transport(run_of(Operation::write, Transport::ud), !kAnswered));
}

TEST(CheckTransportTest, AUdMessageIsOnePacketWithANumber) {
  PerfConfig config = run_of(Operation::send, Transport::ud);
  for (const auto& [size, mtu, fits] : {std::tuple{7U, 1024U, false},
                                        {8U, 1024U, true},
                                        {1024U, 1024U, true},
                                        {1025U, 1024U, false},
                                        {1025U, 0U, true}}) {  // the port's MTU, not known yet
    config.size = size;
    config.qp.mtu = mtu;
    EXPECT_EQ(check_transport(config, false).has_value(), fits) << size;
  }
}

TEST(PatternTest, OnlyAPingByPlainWritesReadsBack) {
  PerfConfig config = run_of(Operation::write);
  EXPECT_TRUE(reads_back(config, PerfPattern::ping));
  EXPECT_FALSE(reads_back(config, PerfPattern::lat));
  config.immediate = true;
  EXPECT_FALSE(reads_back(config, PerfPattern::ping));
  EXPECT_FALSE(reads_back(run_of(Operation::send), PerfPattern::ping));
}

}  // namespace
}  // namespace lw::perf::config_test
