// SPDX-License-Identifier: BSD-3-Clause
// Collectives against closed forms: what is sent in all, what a rank needs to have, and the time on
// a network without loss.
#include <cmath>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "sim/network/network_run.h"

namespace lw::sim {
namespace {

using std::chrono::microseconds, std::chrono::milliseconds;

Schedule schedule_for(Collective collective, Algorithm algorithm, std::uint32_t ranks,
                      std::uint64_t bytes, std::uint32_t channels = 1, std::uint64_t chunk = 0,
                      std::uint32_t groups = 1) {
  const auto schedule = schedule_of({collective, algorithm, bytes, ranks, groups, channels, chunk});
  EXPECT_TRUE(schedule.has_value()) << (schedule ? "" : schedule.error().message);
  return schedule.value_or(Schedule{});
}

std::uint64_t bytes_of(const Schedule& schedule) {
  std::uint64_t sum = 0;
  for (const JobMessage& each : schedule) sum += each.bytes;
  return sum;
}

/// What each rank holds when all messages have arrived, if a message carries all that its sender
/// had: the ranks whose data reached it.
std::vector<std::set<std::uint32_t>> reached(const Schedule& schedule, std::uint32_t ranks) {
  std::vector<std::set<std::uint32_t>> carried(schedule.size()), held(ranks);
  for (std::uint32_t r = 0; r < ranks; ++r) held[r] = {r};
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    carried[i] = {schedule[i].from};
    for (const std::uint32_t before : schedule[i].after) {
      EXPECT_LT(before, i);
      EXPECT_EQ(schedule[before].to, schedule[i].from) << "waits for what another rank gets";
      carried[i].insert(carried[before].begin(), carried[before].end());
    }
    held[schedule[i].to].insert(carried[i].begin(), carried[i].end());
  }
  return held;
}

TEST(Schedule, AllRanksGetTheDataOfAllThatTheyNeed) {
  struct Case {
    Collective collective;
    Algorithm algorithm;
    std::uint32_t groups = 1;
  };
  for (const auto& [collective, algorithm, groups] :
       {Case{Collective::all_reduce, Algorithm::ring},
        Case{Collective::all_reduce, Algorithm::tree},
        Case{Collective::all_reduce, Algorithm::halving_doubling},
        Case{Collective::all_reduce, Algorithm::hierarchical, 2},
        Case{Collective::all_gather, Algorithm::ring},
        Case{Collective::all_gather, Algorithm::halving_doubling},
        Case{Collective::reduce_scatter, Algorithm::ring},
        Case{Collective::reduce_scatter, Algorithm::halving_doubling},
        Case{Collective::all_to_all, Algorithm::direct}})
    for (const std::uint32_t ranks : {2u, 4u, 6u, 8u, 16u, 64u}) {
      if (algorithm == Algorithm::halving_doubling && ranks == 6) continue;
      const auto held =
          reached(schedule_for(collective, algorithm, ranks, 1 << 20, 1, 0, groups), ranks);
      for (const auto& each : held)
        EXPECT_EQ(each.size(), ranks)
            << name_of(collective) << " " << name_of(algorithm) << " " << ranks;
    }
  for (const Algorithm algorithm : {Algorithm::ring, Algorithm::tree})
    for (const auto& each : reached(schedule_for(Collective::broadcast, algorithm, 7, 7000), 7))
      EXPECT_TRUE(each.contains(0));
}

/// Per rank: 2 (n - 1) / n of the data; half of that for one phase.
TEST(Schedule, SendsNoByteMoreThanItMust) {
  constexpr std::uint64_t kBytes = 840 << 10;  // divisible by the numbers of ranks
  for (const std::uint32_t ranks : {2u, 4u, 8u}) {
    const std::uint64_t phase = kBytes * (ranks - 1);
    for (const std::uint32_t channels : {1u, 4u})
      for (const std::uint64_t chunk : {0u, 1000u}) {
        const auto sum = [&](Collective collective, Algorithm algorithm, std::uint32_t groups = 1) {
          return bytes_of(
              schedule_for(collective, algorithm, ranks, kBytes, channels, chunk, groups));
        };
        EXPECT_EQ(sum(Collective::all_reduce, Algorithm::ring), 2 * phase);
        EXPECT_EQ(sum(Collective::all_reduce, Algorithm::tree), 2 * phase);
        EXPECT_EQ(sum(Collective::all_reduce, Algorithm::halving_doubling), 2 * phase);
        EXPECT_EQ(sum(Collective::all_reduce, Algorithm::hierarchical, 2), 2 * phase);
        EXPECT_EQ(sum(Collective::all_gather, Algorithm::ring), phase);
        EXPECT_EQ(sum(Collective::reduce_scatter, Algorithm::halving_doubling), phase);
        EXPECT_EQ(sum(Collective::all_to_all, Algorithm::direct), phase);
        EXPECT_EQ(sum(Collective::broadcast, Algorithm::tree), phase);
        EXPECT_EQ(sum(Collective::pipeline, Algorithm::ring), phase);
      }
  }
}

TEST(Schedule, TheTwoTreesHaveOtherInnerRanks) {
  for (const std::uint32_t ranks : {2u, 3u, 4u, 7u, 8u, 13u, 64u}) {
    std::map<std::uint32_t, std::set<std::uint32_t>> inner;  // by channel
    for (const JobMessage& each :
         schedule_for(Collective::all_reduce, Algorithm::tree, ranks, 4096))
      if (!each.after.empty() && each.after.size() <= 2) inner[each.channel].insert(each.from);
    for (const std::uint32_t rank : inner[0]) EXPECT_FALSE(inner[1].contains(rank)) << ranks;
  }
}

TEST(Schedule, WhatCannotBeDoneIsRefused) {
  const auto why = [](CollectiveConfig config) {
    const auto schedule = schedule_of(config);
    return schedule ? std::string() : schedule.error().message;
  };
  EXPECT_NE(why({.algorithm = Algorithm::halving_doubling, .bytes = 1000, .ranks = 6})
                .find("power of two"),
            std::string::npos);
  EXPECT_NE(why({.algorithm = Algorithm::hierarchical, .bytes = 1000, .ranks = 6, .groups = 4})
                .find("as many ranks each"),
            std::string::npos);
  EXPECT_NE(why({.algorithm = Algorithm::direct, .bytes = 1000}).find("an algorithm of all-reduce"),
            std::string::npos);
  EXPECT_NE(why({.bytes = 3, .ranks = 4}).find("at least 4 B"), std::string::npos);
  EXPECT_NE(why({.bytes = 1 << 30, .ranks = 64, .chunk = 64}).find("larger chunks"),
            std::string::npos);
  for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::hierarchical})
    EXPECT_NE(
        why({.algorithm = algorithm, .bytes = 1 << 30, .ranks = 64, .groups = 32, .chunk = 16384})
            .find("larger chunks"),
        std::string::npos);
}

/// `hosts` at one switch with a deep buffer.
Topology free_star(std::uint32_t hosts, Duration delay) {
  Topology t;
  t.switches.push_back({.name = "s", .buffer_bytes = 256ull << 20});
  for (Node host = 0; host < hosts; ++host) {
    t.hosts.push_back("h" + std::to_string(host));
    t.cables.push_back(
        {.a = host, .b = static_cast<Node>(hosts), .rate_bps = 100e9, .delay = delay});
  }
  return t;
}

NetworkRunConfig job_run(const Topology& topology, CollectiveConfig collective) {
  NetworkRunConfig config{.topology = topology, .workload = {}, .perf = {}};
  config.workload.sendings.clear();
  collective.ranks = static_cast<std::uint32_t>(topology.hosts.size());
  JobConfig& job = config.jobs.emplace_back();
  for (Node host = 0; host < topology.hosts.size(); ++host) job.ranks.push_back(host);
  job.collective = collective;
  job.schedule =
      schedule_for(collective.collective, collective.algorithm, collective.ranks, collective.bytes,
                   collective.channels, collective.chunk, collective.groups);
  config.perf.duration = std::chrono::seconds(100);
  config.sample = std::chrono::seconds(1);
  return config;
}

double us_of(const NetworkResult& result) {
  EXPECT_EQ(result.failed, 0u);
  EXPECT_EQ(result.dropped(), 0u);
  return static_cast<double>(result.jobs.at(0).elapsed().count()) / 1000;
}

constexpr double kDelayUs = 2 * 5 + 2 * 0.5;  // two cables, a NIC at both ends
/// Payload per us at 100 Gb/s: packets of 4096 B with 82 B of headers and gaps.
constexpr double kBytesPerUs = 12'500.0 * 4096 / (4096 + 82);
/// A message's last packet takes its own time again on the second cable.
constexpr double kStoreUs = 4178.0 / 12'500;

/// 2 (n - 1) steps, each of size / n, a way, and the overhead.
TEST(Jobs, ARingTakesTheTimeOfItsFormula) {
  for (const std::uint32_t ranks : {2u, 3u, 8u, 16u, 64u}) {
    constexpr double kOverheadUs = 3;
    auto config = job_run(free_star(ranks, microseconds(5)), {.bytes = 64ull << 20});
    config.jobs[0].step_overhead = microseconds(3);
    const double steps = 2.0 * (ranks - 1);
    const double expected =
        steps * ((64 << 20) / (ranks * kBytesPerUs) + kDelayUs + kStoreUs + kOverheadUs);
    EXPECT_NEAR(us_of(run_network(config)), expected, 0.01 * expected) << ranks;
  }
}

TEST(Jobs, OtherAlgorithmsTakeTheTimeOfTheirFormulas) {
  constexpr std::uint64_t kBytes = 64ull << 20;
  constexpr double kAll = kBytes / kBytesPerUs, kStep = kDelayUs + kStoreUs;
  const auto time = [](CollectiveConfig config, std::uint32_t ranks) {
    config.bytes = kBytes;
    return us_of(run_network(job_run(free_star(ranks, microseconds(5)), config)));
  };
  for (const std::uint32_t ranks : {4u, 16u}) {
    const double share = (ranks - 1.0) / ranks, log = std::log2(ranks);
    const auto near = [&](CollectiveConfig config, double expected) {
      EXPECT_NEAR(time(config, ranks), expected, 0.01 * expected)
          << name_of(config.collective) << " " << name_of(config.algorithm) << " " << ranks;
    };
    near({.collective = Collective::all_gather}, share * kAll + (ranks - 1) * kStep);
    near({.collective = Collective::reduce_scatter}, share * kAll + (ranks - 1) * kStep);
    near({.algorithm = Algorithm::halving_doubling}, 2 * share * kAll + 2 * log * kStep);
    const double in_group = ranks / 2.0;
    near({.algorithm = Algorithm::hierarchical, .groups = 2},
         2 * (in_group - 1) * (kAll / in_group + kStep) + 2 * (kAll / ranks + kStep));
    near({.collective = Collective::all_to_all, .algorithm = Algorithm::direct},
         share * kAll + kStep);
    // A chunk is handed on when it is whole: the first one passes all ranks, the others follow it.
    const double chunk = (1 << 20) / kBytesPerUs;
    near({.collective = Collective::pipeline, .chunk = 1 << 20},
         kAll + (ranks - 2) * chunk + (ranks - 1) * kStep);
  }
}

/// Each rank sends all of it to two others at once: two levels below the root of seven ranks.
TEST(Jobs, ABroadcastInATreeTakesTheTimeOfItsFormula) {
  const auto config = job_run(
      free_star(7, microseconds(5)),
      {.collective = Collective::broadcast, .algorithm = Algorithm::tree, .bytes = 64ull << 20});
  const double expected = 2 * (2 * (64 << 20) / kBytesPerUs + kDelayUs + kStoreUs);
  EXPECT_NEAR(us_of(run_network(config)), expected, 0.01 * expected);
}

/// 2^k ranks are k levels below a root, which has one child; all others that have children have
/// two, whose halves share a port. Both trees at once: who has children in one has none in the
/// other.
TEST(Jobs, ADoubleBinaryTreeTakesTheTimeOfItsFormula) {
  constexpr std::uint64_t kBytes = 4ull << 20;
  for (const std::uint32_t levels : {1u, 2u, 3u, 4u, 5u, 6u}) {
    constexpr double kOverheadUs = 3;
    auto config = job_run(free_star(1u << levels, microseconds(5)),
                          {.algorithm = Algorithm::tree, .bytes = kBytes});
    config.jobs[0].step_overhead = microseconds(3);
    const double expected = (2 * levels - 1) * (kBytes / kBytesPerUs) +
                            2 * levels * (kDelayUs + kStoreUs + kOverheadUs);
    EXPECT_NEAR(us_of(run_network(config)), expected, 0.01 * expected) << (1u << levels);
  }
}

/// With chunks, the levels work at the same time: 2 S / R is what a rank with a parent and two
/// children sends.
TEST(Jobs, ChunksOfADoubleBinaryTreeApproachTheBytesOfARank) {
  constexpr std::uint64_t kBytes = 16ull << 20;
  for (const std::uint32_t ranks : {4u, 8u, 16u, 64u}) {
    const auto config = job_run(free_star(ranks, microseconds(5)),
                                {.algorithm = Algorithm::tree, .bytes = kBytes, .chunk = 64 << 10});
    const double sent = us_of(run_network(config)) / (2 * kBytes / kBytesPerUs);
    EXPECT_GE(sent, 1) << ranks;
    EXPECT_LE(sent, 1.1) << ranks;
  }
}

TEST(Jobs, ComputingOverlapsAsFarAsStated) {
  auto config = job_run(free_star(4, microseconds(5)), {.bytes = 64ull << 20});
  const double alone = us_of(run_network(config));
  JobConfig& job = config.jobs[0];
  job.compute = milliseconds(20);
  job.repeat = 3;
  const auto time = [&](double overlap) {
    job.overlap = overlap;
    return us_of(run_network(config));
  };
  EXPECT_NEAR(time(0), 3 * (20'000 + alone), 10);
  EXPECT_NEAR(time(0.2), 3 * (16'000 + alone), 10);  // it goes on behind the computing
  EXPECT_NEAR(time(1), 3 * 20'000, 0.01 * 60'000);   // all of it is hidden
}

TEST(Jobs, TheirProgressIsThatOfTheirBytes) {
  auto config = job_run(free_star(4, microseconds(5)), {.bytes = 64ull << 20});
  config.jobs[0].repeat = 2;
  config.sample = milliseconds(1);
  std::vector<double> shares;
  const NetworkResult result =
      run_network(config, {}, [&](double share) { shares.push_back(share); });
  ASSERT_GT(shares.size(), 10u);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_NEAR(shares[shares.size() / 2], 0.5, 0.2);
  EXPECT_EQ(shares.back(), 1);
}

TEST(Jobs, TwoJobsShareTheirLinks) {
  auto config = job_run(free_star(2, microseconds(5)), {.bytes = 64ull << 20});
  const double alone = us_of(run_network(config));
  config.jobs.push_back(config.jobs[0]);
  const NetworkResult both = run_network(config);
  for (const JobResult& job : both.jobs)
    EXPECT_NEAR(static_cast<double>(job.elapsed().count()) / 1000, 2 * alone, 0.03 * alone);
}

/// What a job's time was spent on is known: each test makes one cause, and the parts are all of the
/// time.
TimeParts parts_of(const NetworkResult& result) {
  const JobResult& job = result.jobs.at(0);
  EXPECT_EQ(job.parts.total(), job.elapsed());
  TimeParts steps;
  for (const StepResult& step : job.steps) steps += step.parts;
  EXPECT_EQ(steps.computing + steps.overhead, Duration{});
  return job.parts;
}

double us_of(Duration time) noexcept { return static_cast<double>(time.count()) / 1000; }

TEST(JobParts, OfARingAreThoseOfItsFormula) {
  constexpr std::uint32_t kRanks = 8, kSteps = 2 * (kRanks - 1);
  auto config = job_run(free_star(kRanks, microseconds(5)), {.bytes = 64ull << 20});
  config.jobs[0].step_overhead = microseconds(3);
  config.jobs[0].compute = milliseconds(2);
  config.jobs[0].overlap = 0.5;
  const NetworkResult result = run_network(config);
  const TimeParts parts = parts_of(result);
  EXPECT_EQ(parts.computing, milliseconds(1));
  EXPECT_EQ(parts.overhead, kSteps * microseconds(3));
  EXPECT_NEAR(us_of(parts.path), kSteps * kDelayUs, 0.1);
  const double bytes_us = kSteps * ((64 << 20) / (kRanks * kBytesPerUs) + kStoreUs);
  EXPECT_NEAR(us_of(parts.serialisation), bytes_us, 0.002 * bytes_us);
  EXPECT_EQ(parts.recovery, Duration{});
  EXPECT_EQ(parts.window, Duration{});
  EXPECT_LT(us_of(parts.congestion), 0.002 * bytes_us);  // ACKs in between
  ASSERT_EQ(result.jobs[0].steps.size(), kSteps);
  for (const StepResult& step : result.jobs[0].steps) {
    EXPECT_EQ(step.messages, kRanks);
    EXPECT_NEAR(us_of(step.longest), bytes_us / kSteps + kDelayUs, 1);
  }
}

/// A message of 16 chunks with one outstanding: all but one wait for an ACK, which is a round trip.
TEST(JobParts, AFullWindowIsNotCongestion) {
  auto config = job_run(free_star(2, microseconds(50)),
                        {.collective = Collective::pipeline, .bytes = 64 << 10, .chunk = 4 << 10});
  config.perf.qp.max_outstanding_wqe = 1;
  const TimeParts parts = parts_of(run_network(config));
  EXPECT_NEAR(us_of(parts.path), 101, 0.1);
  EXPECT_NEAR(us_of(parts.window), 15 * 2 * 101, 15);
  EXPECT_LT(us_of(parts.congestion), 1);
}

/// Two ranks send to a third through one cable: half of the time of each is the other's packets.
TEST(JobParts, OthersPacketsAreCongestion) {
  auto config = job_run(free_star(3, microseconds(5)), {.bytes = 3 << 20});
  JobConfig& job = config.jobs[0];
  job.schedule = {{.from = 0, .to = 2, .bytes = 8 << 20}, {.from = 1, .to = 2, .bytes = 8 << 20}};
  const TimeParts parts = parts_of(run_network(config));
  const double alone_us = (8 << 20) / kBytesPerUs;
  EXPECT_NEAR(us_of(parts.serialisation), alone_us, 0.01 * alone_us);
  EXPECT_NEAR(us_of(parts.congestion), alone_us, 0.01 * alone_us);
  // Of messages of one rank, the time is that of its bytes.
  job.schedule = {{.from = 0, .to = 1, .bytes = 8 << 20}, {.from = 0, .to = 2, .bytes = 8 << 20}};
  const TimeParts own = parts_of(run_network(config));
  EXPECT_NEAR(us_of(own.serialisation), 2 * alone_us, 0.01 * alone_us);
  EXPECT_LT(us_of(own.congestion), 0.01 * alone_us);
}

/// A buffer of 64 packets overflows. What the retransmissions cost is neither path nor bytes.
TEST(JobParts, LossesAreRecovery) {
  for (const auto recovery :
       {transport::LossRecovery::go_back_n, transport::LossRecovery::selective_repeat}) {
    auto config = job_run(free_star(3, microseconds(50)), {.bytes = 3 << 20});
    config.perf.qp.recovery = recovery;
    config.jobs[0].schedule = {{.from = 0, .to = 2, .bytes = 2 << 20},
                               {.from = 1, .to = 2, .bytes = 2 << 20}};
    config.topology.switches[0].buffer_bytes = 64 * 4200;
    const NetworkResult result = run_network(config);
    EXPECT_GT(result.dropped(), 0u);
    const TimeParts parts = parts_of(result);
    EXPECT_NEAR(us_of(parts.path), 101, 0.1);
    EXPECT_GT(us_of(parts.recovery), 200);  // a round trip at least
    EXPECT_GT(us_of(parts.serialisation), 0.9 * (2 << 20) / kBytesPerUs);
  }
}

/// Four senders fill a buffer of 64 packets until their messages end. No packet follows the last
/// lost ones, so only the timer finds them: each sender's with one expiry, not with one a packet.
TEST(Jobs, TheEndsOfMessagesThatAreLostTakeOneTimeout) {
  auto config = job_run(free_star(5, microseconds(50)), {.bytes = 5 << 20});
  config.perf.qp.recovery = transport::LossRecovery::selective_repeat;
  config.perf.qp.timeout = 12;  // 16.8 ms
  config.jobs[0].schedule.clear();
  for (const std::uint32_t rank : {0u, 1u, 2u, 3u})
    config.jobs[0].schedule.push_back({.from = rank, .to = 4, .bytes = 1 << 20});
  config.topology.switches[0].buffer_bytes = 64 * 4200;
  const NetworkResult result = run_network(config);
  EXPECT_GT(result.dropped(), 500u);
  EXPECT_GE(result.timeouts, 1u);
  EXPECT_LE(result.timeouts, 4u);
  ASSERT_EQ(result.jobs.at(0).iterations.size(), 1u);
  EXPECT_LT(result.jobs.at(0).elapsed(), milliseconds(40));
}

/// Iterations are told apart though a rank may be ahead.
TEST(Jobs, RanksThatAreAheadDoNotDisturb) {
  auto config = job_run(free_star(5, microseconds(5)),
                        {.collective = Collective::broadcast, .bytes = 1 << 20});
  config.jobs[0].repeat = 40;
  const NetworkResult result = run_network(config);
  ASSERT_EQ(result.jobs[0].iterations.size(), 40u);
  EXPECT_EQ(result.jobs[0].messages, 40u * 4);
  EXPECT_EQ(result.jobs[0].bytes, 40ull * 4 << 20);
}

}  // namespace
}  // namespace lw::sim
