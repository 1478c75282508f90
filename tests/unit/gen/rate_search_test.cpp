// SPDX-License-Identifier: BSD-3-Clause
#include "gen/search/rate_search.h"

#include <cmath>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/chance.h"
#include "gen/questions.h"
#include "gen/traffic/tx_scheduler.h"

namespace lw::gen {
namespace {

/// A path that takes so much and drops what is above it.
auto path_of(double capacity) {
  return [capacity](double fraction) -> Result<Trial> {
    Trial trial;
    trial.sent = static_cast<std::uint64_t>(std::llround(1e6 * fraction));
    trial.received = static_cast<std::uint64_t>(std::llround(1e6 * std::min(fraction, capacity)));
    return trial;
  };
}

TEST(RateSearch, BracketsTheCapacity) {
  for (const double capacity : {0.001, 0.01, 0.125, 0.333, 0.5, 0.777, 0.99, 0.9999}) {
    for (const double resolution : {0.1, 0.01, 0.001}) {
      const auto found = search_rate({.resolution = resolution}, path_of(capacity));
      ASSERT_TRUE(found.has_value());
      const double low = found->passes ? found->passes->fraction : 0;
      ASSERT_TRUE(found->fails.has_value());
      EXPECT_LE(low, capacity * (1 + 1e-3));  // a path of 1e6 frames: rounded
      EXPECT_GT(found->fails->fraction, capacity);
      const double of = low > 0 ? found->fails->fraction : 1;
      EXPECT_LE(found->fails->fraction - low, resolution * of);
      EXPECT_LE(found->trials.size(), 2 + std::ceil(std::log2(1 / resolution / of)));
    }
  }
}

TEST(RateSearch, IsContentWithTheHighestRate) {
  const auto found = search_rate({}, path_of(1));
  ASSERT_TRUE(found->passes.has_value());
  EXPECT_EQ(found->passes->fraction, 1);
  EXPECT_FALSE(found->fails.has_value());
  EXPECT_EQ(found->trials.size(), 1u);
}

TEST(RateSearch, SaysThatNothingPassed) {
  const auto found = search_rate({}, path_of(0));
  EXPECT_FALSE(found->passes.has_value());
  EXPECT_LE(found->fails->fraction, 0.01);
}

/// A buffer on the path takes what is above its capacity, so that no trial loses a frame.
TEST(RateSearch, ARateAtWhichLatencyGrowsFails) {
  const auto found = search_rate({}, [](double fraction) -> Result<Trial> {
    return Trial{.sent = 10,
                 .received = 10,
                 .delay_growth = std::chrono::milliseconds(fraction > 0.6 ? 9 : 0),
                 .delay_grows = fraction > 0.6,
                 .span = std::chrono::milliseconds(500)};
  });
  EXPECT_NEAR(found->passes->fraction, 0.6, 0.01);
  EXPECT_GT(found->fails->fraction, 0.6);
}

Judgement judged(const std::function<Result<Trial>(double)>& path, const char* expect = "") {
  const std::vector<SizeSearch> sizes = {{1024, *search_rate({}, path)}};
  std::vector<Expectation> expectations;
  if (*expect != 0) expectations.push_back(*parse_expectation(expect));
  Judge judge(kSearchQuestions, std::move(expectations));
  observe_search(judge, {sizes, {}});
  return judge.finish().all().front();
}

/// A trial of 500 ms at 60.7 % of the highest rate, over a path of 60 %: the latency grows by 5 ms.
Trial trial_with(Duration growth, Duration noise, bool grows = false) {
  return {.fraction = 0.607,
          .sent = 10,
          .received = 10,
          .delay_growth = growth,
          .delay_grows = grows,
          .delay_noise = noise,
          .span = std::chrono::milliseconds(500)};
}

/// One resolution of 1 % causes a growth of 500 ms * 0.01 = 5 ms.
TEST(RateSearch, ATrialWhoseNoiseHidesGrowthDoesNotPass) {
  using std::chrono::microseconds, std::chrono::milliseconds;
  const auto end = [](Trial trial) { return end_of(trial, {}); };
  EXPECT_EQ(end(trial_with(milliseconds(0), milliseconds(2))), TrialEnd::passed);
  EXPECT_EQ(end(trial_with(milliseconds(0), milliseconds(3))), TrialEnd::not_offered);
  EXPECT_EQ(end(trial_with(milliseconds(2), milliseconds(1))), TrialEnd::passed);
  EXPECT_EQ(end(trial_with(milliseconds(2), milliseconds(2))), TrialEnd::not_offered);
  EXPECT_EQ(end(trial_with(milliseconds(5), milliseconds(2), true)), TrialEnd::failed);
  EXPECT_EQ(end(trial_with(-milliseconds(9), milliseconds(4))), TrialEnd::passed);
  Trial unknown = trial_with(milliseconds(0), milliseconds(0));
  unknown.delay_growth.reset();
  EXPECT_EQ(end(unknown), TrialEnd::passed);  // frames without signatures
  unknown.held_up = 1;
  EXPECT_EQ(end(unknown), TrialEnd::not_offered);
  Trial lost = trial_with(milliseconds(0), milliseconds(5));
  lost.received = 9;
  EXPECT_EQ(end(lost), TrialEnd::failed);  // noise hides no loss
  // 0.5 ms: the rate is that of the path within 0.1 %
  EXPECT_EQ(end(trial_with(microseconds(500), microseconds(200), true)), TrialEnd::passed);
  Trial grown = trial_with(microseconds(600), microseconds(200), true);
  EXPECT_EQ(end(grown), TrialEnd::failed);
  grown.as_a_whole = true;
  EXPECT_EQ(end(grown), TrialEnd::failed);
  grown.stood_still.longest = microseconds(600);
  EXPECT_EQ(end(grown), TrialEnd::not_offered);
}

TEST(RateSearch, ATrialWhoseNoiseHidesGrowthIsTriedAgain) {
  int trials = 0;
  const auto quiet_at_last = [&](double fraction) -> Result<Trial> {
    const bool noisy = ++trials % 4 != 0;
    const bool grows = !noisy && fraction > 0.6;
    return trial_with(std::chrono::milliseconds(grows ? 5 : 0),
                      std::chrono::milliseconds(noisy ? 50 : 0), grows);
  };
  const auto found = search_rate({}, quiet_at_last);
  EXPECT_NEAR(found->passes->fraction, 0.6, 0.01);
  EXPECT_FALSE(found->not_offered);
  const Judgement never = judged([](double fraction) -> Result<Trial> {
    Trial trial = trial_with(Duration{}, std::chrono::milliseconds(50));
    trial.wire_bps = 10e9 * fraction;
    return trial;
  });
  EXPECT_EQ(never.holds, Holds::unknown);
  EXPECT_NE(never.reason.find("latency varied by 50 ms there"), std::string::npos) << never.reason;
}

/// What the parts lose in which this machine did not stand still is the path's.
TEST(RateSearch, AStallOfThisMachineExcusesWhatItsPartsLost) {
  const auto end = [](std::uint64_t lost, std::uint64_t lost_held_up, bool mostly = false) {
    return end_of({.fraction = 0.5,
                   .sent = 1000,
                   .received = 1000 - lost,
                   .delay_growth = Duration{},
                   .span = std::chrono::seconds(1),
                   .held_up = mostly ? 500u : 100u,
                   .lost_held_up = lost_held_up,
                   .as_a_whole = mostly,
                   .stood_still = {.total = std::chrono::milliseconds(200)}},
                  {});
  };
  EXPECT_EQ(end(0, 0), TrialEnd::passed);
  EXPECT_EQ(end(30, 30), TrialEnd::not_offered);
  EXPECT_EQ(end(31, 30), TrialEnd::failed);
  EXPECT_EQ(end(400, 100), TrialEnd::failed);
  // In half of the parts, together for 0.2 s of 1 s: 200 frames were due.
  EXPECT_EQ(end(200, 100, true), TrialEnd::not_offered);
  EXPECT_EQ(end(201, 100, true), TrialEnd::failed);
}

/// What a burst of this machine loses is tried again, and is no bound of the path.
TEST(RateSearch, ADisturbedTrialIsTriedAgain) {
  std::map<double, int> tried;
  const auto found = search_rate({}, [&](double fraction) -> Result<Trial> {
    const bool disturbed = tried[fraction]++ < 3;
    const bool lost = fraction > 0.6 || disturbed;
    return Trial{.sent = 10,
                 .received = lost ? 9u : 10u,
                 .held_up = disturbed ? 1u : 0u,
                 .lost_held_up = disturbed ? 1u : 0u};
  });
  EXPECT_NEAR(found->passes->fraction, 0.6, 0.01);
  EXPECT_GT(found->fails->fraction, 0.6);
  EXPECT_FALSE(found->not_offered);
  const auto never = search_rate({}, [](double) -> Result<Trial> {
    return Trial{.sent = 10, .received = 9, .held_up = 1, .lost_held_up = 1};
  });
  EXPECT_FALSE(never->passes || never->fails);
  EXPECT_TRUE(never->not_offered);
}

/// A box that starts takes no frames for some time.
TEST(RateSearch, APortThatNobodyReadsYetIsTriedAgain) {
  int trials = 0;
  const auto found = search_rate({}, [&](double fraction) -> Result<Trial> {
    if (++trials <= 4) return Trial{.not_sent = 10, .offered = false};
    return Trial{.sent = 10, .received = fraction > 0.6 ? 9u : 10u};
  });
  EXPECT_NEAR(found->passes->fraction, 0.6, 0.01);
  EXPECT_FALSE(found->not_offered);
}

/// The rate found passes once and fails its confirmation until it is below 0.4.
TEST(RateSearch, ARateThatIsNotConfirmedIsABound) {
  std::map<double, int> tried;
  const auto found = search_rate({.confirm = 3}, [&](double fraction) -> Result<Trial> {
    const bool again = tried[fraction]++ > 0;
    const bool passes = fraction <= 0.4 || (fraction <= 0.6 && !again);
    return Trial{.sent = 10, .received = passes ? 10u : 9u};
  });
  ASSERT_TRUE(found->passes.has_value());
  EXPECT_LE(found->passes->fraction, 0.4);
  EXPECT_EQ(found->confirmed, 3);
  EXPECT_EQ(tried[found->passes->fraction], 4);
  EXPECT_LE(found->fails->fraction - found->passes->fraction, 0.2);
}

TEST(RateSearch, AConfirmedRateIsTriedAgain) {
  const auto found = search_rate({.confirm = 5}, path_of(0.5));
  EXPECT_NEAR(found->passes->fraction, 0.5, 0.01);
  EXPECT_EQ(found->confirmed, 5);
}

TEST(RateSearch, ToleratesTheLossItIsTold) {
  // A tenth may be lost: the capacity over nine tenths.
  const auto found = search_rate({.loss = 0.1, .resolution = 0.001}, path_of(0.45));
  EXPECT_NEAR(found->passes->fraction, 0.5, 0.001);
}

TEST(RateSearch, ARateThatWasNotOfferedDoesNotPass) {
  const auto found = search_rate({}, [](double fraction) -> Result<Trial> {
    return Trial{.sent = 10, .received = 10, .offered = fraction < 0.3};
  });
  EXPECT_LT(found->passes->fraction, 0.3);
  EXPECT_FALSE(found->fails);  // nobody saw the path lose a frame
  EXPECT_GE(found->not_offered->fraction, 0.3);
  EXPECT_LE(found->not_offered->fraction - found->passes->fraction, 0.01);
}

TEST(RateSearch, WhatOurOwnPortLostIsNoLossOfThePath) {
  const auto found = search_rate({}, [](double fraction) -> Result<Trial> {
    const std::uint64_t lost = fraction < 0.3 ? 0 : 5;
    return Trial{.sent = 100, .received = 100 - lost, .lost_here = lost};
  });
  EXPECT_LT(found->passes->fraction, 0.3);
  EXPECT_FALSE(found->fails);
  EXPECT_GE(found->not_offered->fraction, 0.3);
}

TEST(RateSearch, ARateThatThePathFailsBelowThatOfTheMachineDecides) {
  const auto found = search_rate({}, [](double fraction) -> Result<Trial> {
    return Trial{.sent = 100, .received = fraction < 0.2 ? 100u : 90u, .offered = fraction < 0.6};
  });
  EXPECT_LT(found->passes->fraction, 0.2);
  EXPECT_NEAR(found->fails->fraction, 0.2, 0.01);
  EXPECT_FALSE(found->not_offered);
}

/// A path that takes half of 10 Gb/s.
Result<Trial> half(double fraction) {
  Trial trial = *path_of(0.5)(fraction);
  trial.wire_bps = 10e9 * fraction;
  return trial;
}

TEST(RateSearch, ARateThatPassesHolds) {
  const Judgement found = judged(half);
  EXPECT_EQ(found.colour(), Colour::green);
  EXPECT_EQ(found.observed.substr(0, 10), "5.00 Gb/s ");
  EXPECT_EQ(judged(half, "passes>=4Gb/s").colour(), Colour::green);
  EXPECT_EQ(judged(half, "passes>=6Gb/s").exit(), ExitCode::failed);
}

TEST(RateSearch, ADeadPathFails) {
  const Judgement found = judged(path_of(0));
  EXPECT_EQ(found.holds, Holds::no);
  EXPECT_EQ(found.exit(), ExitCode::failed);
  EXPECT_EQ(found.observed.substr(0, 14), "no rate passes");
}

TEST(RateSearch, WhatTheMachineDidNotOfferCannotBeTold) {
  const auto slow = [](double fraction) -> Result<Trial> {
    return Trial{
        .sent = 10, .received = 10, .wire_bps = 10e9 * fraction, .offered = fraction < 0.3};
  };
  const Judgement found = judged(slow);
  EXPECT_EQ(found.holds, Holds::unknown);
  EXPECT_EQ(found.exit(), ExitCode::failed);
  EXPECT_NE(found.reason.find("not offered above 2.9"), std::string::npos) << found.reason;
  // More than what passed is known to be true.
  EXPECT_EQ(judged(slow, "passes>=2Gb/s").holds, Holds::yes);
  EXPECT_EQ(judged(slow, "passes>=5Gb/s").exit(), ExitCode::failed);
}

/// Chance decides near the capacity; what holds: the end passed and failed as it says, the
/// bracket is as narrow as asked, and every rate was tried no more often than asked.
TEST(RateSearch, KeepsItsWordOverANoisyPath) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Chance chance(seed, 1);
    std::uint64_t draw = 0;
    const SearchConfig config{.resolution = 0.01, .repeat = 3};
    const auto found = search_rate(config, [&](double fraction) {
      return path_of(0.6 + 0.1 * chance.uniform(draw++))(fraction);
    });
    ASSERT_TRUE(found->passes && found->fails);
    EXPECT_EQ(end_of(*found->passes, config), TrialEnd::passed);
    EXPECT_EQ(end_of(*found->fails, config), TrialEnd::failed);
    EXPECT_GT(found->fails->fraction, found->passes->fraction);
    EXPECT_LE(found->fails->fraction - found->passes->fraction, 0.01);
    EXPECT_GT(found->passes->fraction, 0.59);
    EXPECT_LT(found->passes->fraction, 0.7);
    EXPECT_LE(found->trials.size(), 3u * 8);
  }
}

TEST(RateSearch, KeepsTheTrialsBeforeItIsStopped) {
  int left = 3;
  const auto found = search_rate({}, [&](double fraction) -> Result<std::optional<Trial>> {
    if (left-- == 0) return std::nullopt;
    return path_of(0.4)(fraction);
  });
  ASSERT_TRUE(found.has_value());
  EXPECT_FALSE(found->complete);
  EXPECT_EQ(found->trials.size(), 3u);
  EXPECT_EQ(found->passes->fraction, 0.25);
  EXPECT_EQ(found->fails->fraction, 0.5);
}

TEST(RateSearch, HandsOnWhatStopsATrial) {
  const auto found =
      search_rate({}, [](double) -> Result<Trial> { return fail("no", ExitCode::environment); });
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().message, "no");
}

/// Frames that are due every ms and pass `line`: when each arrives, in order; none: lost.
Duration stood_still_on(const std::function<std::optional<Duration>(int)>& line) {
  StandStill still(std::chrono::milliseconds(1));
  Duration total{};
  for (int i = 0; i < 1000; ++i) {
    const Instant sent = Instant{} + std::chrono::milliseconds(i);
    if (const auto latency = line(i)) total += still.add(sent, sent + *latency);
  }
  return total;
}

TEST(StandStill, IsASilenceWhoseEndIsLate) {
  using std::chrono::milliseconds;
  // From 100 ms to 130 ms: what is due meanwhile arrives then, or 10 of it do and the rest is lost.
  const auto stalled = [](int i) { return milliseconds(i >= 100 && i < 130 ? 130 - i : 0); };
  EXPECT_EQ(stood_still_on(stalled), milliseconds(30));
  EXPECT_EQ(stood_still_on([&](int i) -> std::optional<Duration> {
              if (i >= 110 && i < 130) return std::nullopt;
              return stalled(i);
            }),
            milliseconds(30));
  // An outage loses frames and delays none.
  EXPECT_EQ(stood_still_on([](int i) -> std::optional<Duration> {
              if (i >= 100 && i < 130) return std::nullopt;
              return milliseconds(1);
            }),
            Duration{});
  // A queue fills by half a frame each time, and then drops every third.
  EXPECT_EQ(stood_still_on([](int i) -> std::optional<Duration> {
              if (i > 20 && i % 3 == 0) return std::nullopt;
              return std::chrono::microseconds(500 * std::min(i, 20));
            }),
            Duration{});
}

using SentAt = std::function<Duration(std::size_t)>;

/// The frames of a profile, in order, and when each is sent.
std::vector<std::vector<std::byte>> frames_of(
    const config::FlowProfile& profile,
    const SentAt& sent = [](std::size_t) { return Duration{}; }) {
  std::vector<std::vector<std::byte>> frames;
  for (TxScheduler scheduler(profile); auto due = scheduler.next(); scheduler.advance()) {
    due->fields.send_time_ns = static_cast<std::uint64_t>(sent(frames.size()).count());
    frames.emplace_back(due->size());
    due->frame->write(due->fields, frames.back());
  }
  return frames;
}

config::FlowProfile trial_of(const std::string& keys, std::uint16_t run) {
  auto profile = config::parse_flow_profile("[[flow]]\n" + keys, "test");
  EXPECT_TRUE(profile) << profile.error().message;
  for (config::Flow& flow : profile->flows) {
    flow.signature = true;
    flow.origin.run = run;
  }
  return *profile;
}

constexpr Duration kSpan = std::chrono::seconds(1);

/// With a signature, by PSN where there is no room for one, and by the PSNs of READ requests.
TEST(TrialCount, AFrameCountsOnceByFlowAndNumber) {
  for (const char* keys : {"messages = 20", "messages = 20\nmessage_size = 8\nfirst_psn = 0xfffff8",
                           "messages = 10\nmessage_size = 1030\nqps = 2",
                           "messages = 20\noperation = \"read_request\"\nmessage_size = 5000"}) {
    const auto profile = trial_of(keys, 7);
    const auto frames = frames_of(profile);
    TrialCount count(profile, kSpan);
    for (std::size_t i = 0; i < frames.size(); ++i) {
      if (i == 3) continue;  // lost
      if (i == 5) {          // damaged
        auto damaged = frames[i];
        damaged.back() ^= std::byte{1};
        EXPECT_TRUE(count.count_frame(damaged, Instant{}));
        continue;
      }
      if (i == 8) continue;  // late: after the next of its flow
      EXPECT_TRUE(count.count_frame(frames[i], Instant{}));
      if (i == 12) count.count_frame(frames[8], Instant{});
      if (i == 14) count.count_frame(frames[14], Instant{});  // a copy
    }
    EXPECT_EQ(count.counts().received, frames.size() - 2) << keys;
    EXPECT_EQ(count.counts().duplicated, 1u) << keys;
    EXPECT_EQ(count.counts().bad_icrc, 1u) << keys;
    EXPECT_EQ(count.counts().out_of_order, 1u) << keys;
    EXPECT_EQ(count.counts().earlier + count.counts().other + count.counts().unclear, 0u) << keys;
  }
}

TEST(TrialCount, FramesOfAnEarlierTrialCountApart) {
  for (const char* size : {"1024", "8"}) {
    const std::string keys = fmt::format("messages = 20\nmessage_size = {}", size);
    auto profile = trial_of(keys, 7);
    const auto earlier = frames_of(profile);
    profile = trial_of(keys + "\nfirst_psn = 20", 8);
    TrialCount count(profile, kSpan);
    for (const auto& frame : earlier) count.count_frame(frame, Instant{});
    for (const auto& frame : frames_of(profile)) count.count_frame(frame, Instant{});
    EXPECT_EQ(count.counts().received, 20u);
    EXPECT_EQ(count.counts().earlier, 20u);
  }
}

/// 1,000 frames in 1 s. The sender stands still from 300 to 350 ms: 20 of the burst are lost, and
/// one elsewhere. From 700 to 730 ms the receiver does.
TEST(TrialCount, PartsTellWhoStoodStillWhileFramesWereLost) {
  using std::chrono::milliseconds;
  const auto profile = trial_of("messages = 1000", 7);
  TrialCount count(profile, kSpan);
  const auto sent = [](std::size_t i) { return milliseconds(i >= 300 && i < 350 ? 350 : i); };
  const auto frames = frames_of(profile, sent);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if ((i >= 330 && i < 350) || i == 900) continue;
    const auto arrived = i < 20                ? milliseconds(20)
                         : i >= 700 && i < 730 ? milliseconds(730)
                                               : sent(i);
    count.count_frame(frames[i], Instant{} + arrived);
  }
  const std::vector<FlowFrames> flows = {{.due = 1000, .sent = 1000}};
  using Counts = std::pair<std::uint64_t, std::uint64_t>;
  const auto disturbed = [&](TrialParts::Counted counted) {
    const TrialParts::Frames frames_there = count.parts().disturbed(flows, counted);
    return Counts(frames_there.sent, frames_there.lost);
  };
  EXPECT_EQ(disturbed({}), Counts(0u, 0u));
  EXPECT_EQ(disturbed({.sender = true}), Counts(80u, 20u));
  EXPECT_EQ(disturbed({.path = true}), Counts(110u, 0u));
  EXPECT_EQ(disturbed({.sender = true, .path = true}), Counts(190u, 20u));
  EXPECT_FALSE(count.parts().mostly_disturbed({.sender = true, .path = true}));
  EXPECT_TRUE(count.parts().loses_at_random(flows, {.sender = true}));  // 1 of 92 parts
  EXPECT_FALSE(count.parts().loses_at_random(flows, {}));               // nobody stood still
}

TEST(TrialCount, FramesOfOthersCountApart) {
  const auto profile = trial_of("messages = 20", 7);
  TrialCount count(profile, kSpan);
  for (const auto& frame : frames_of(trial_of("messages = 5\ndst_qp = 9\nmessage_size = 8", 7)))
    EXPECT_TRUE(count.count_frame(frame, Instant{}));
  EXPECT_EQ(count.counts().other, 5u);
  EXPECT_EQ(count.counts().received, 0u);
  EXPECT_FALSE(count.count_frame(std::vector<std::byte>(60), Instant{}));
}

}  // namespace
}  // namespace lw::gen
