// SPDX-License-Identifier: BSD-3-Clause
// Frames that are admitted together fare as if each had come by itself, whether or not the lane
// opens them.
#include <map>

#include <gtest/gtest.h>

#include "roce/plain_rocev2.h"
#include "support/path_frames.h"

namespace lw::path {
namespace {

using Frame = std::vector<std::byte>;

/// Frames whose handle is where they are; copies are the caller's to forget.
struct FramesInPlace : NoFrameAccess<const Frame*> {
  static wire::Bytes bytes(const Frame* frame) noexcept { return *frame; }
  static std::uint32_t length(const Frame* frame) noexcept {
    return static_cast<std::uint32_t>(frame->size());
  }
  static roce::Envelope open(const Frame* frame) noexcept { return roce::open_envelope(*frame); }
};

/// RoCE of all kinds and other frames, with a field flipped here and there; between stretches of
/// plain RoCEv2, the first one, too, whose bursts are admitted as a whole.
std::vector<Frame> frames_of_all_kinds() {
  std::vector<Frame> frames;
  const Chance chance(5, 5);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    if (i / 100 % 2 == 0) {
      frames.push_back(test::roce_frame(i % 7, i, i % 90));
      continue;
    }
    Frame frame =
        chance.bits(i) % 8 == 0 ? test::other_frame(64) : test::roce_frame(i % 7, i, i % 90);
    if (chance.bits(i, 1) % 4 == 0) {
      const std::size_t at = chance.bits(i, 2) % std::min<std::size_t>(frame.size(), 54);
      frame[at] ^= static_cast<std::byte>(1U << chance.bits(i, 3) % 8);
    }
    if (chance.bits(i, 4) % 16 == 0) frame.resize(chance.bits(i, 5) % frame.size());
    frames.push_back(std::move(frame));
  }
  return frames;
}

/// The same where frames carry what a lane knows of them.
struct FramesWithRoom : FramesInPlace {
  static inline std::map<const Frame*, Transit> room;
  static Transit& transit(const Frame* frame) noexcept { return room[frame]; }
};

using BurstLane = Lane<const Frame*, FramesInPlace>;
using RoomLane = Lane<const Frame*, FramesWithRoom>;

struct Outcome {
  std::vector<std::pair<const Frame*, Instant>> exits;
  std::vector<const Frame*> dropped;
  Books books;
  RuleStats stats;
  EventHits hits;
  std::vector<std::uint64_t> happened;
};

template <class Lane>
Outcome run(const std::vector<Frame>& frames, std::span<const RuleConfig> rules, bool together,
            std::size_t capacity, std::span<const RuleConfig> later = {},
            std::span<const EventConfig> events = {}) {
  Lane lane(Pipeline(Direction::west_to_east, 1, rules, events), {.capacity = capacity});
  Outcome outcome;
  Instant now = instant_from_ns(1'000'000);
  const auto drain = [&] {
    lane.release(now);
    for (const Frame* frame : lane.egress()) outcome.exits.emplace_back(frame, now);
    lane.sent(lane.egress().size(), now);
  };
  for (std::size_t i = 0; i < frames.size(); i += 20, now += Duration{500}) {
    if (i == frames.size() / 2 + 60 && !later.empty()) {
      typename Lane::Standby next(
          Pipeline(Direction::west_to_east, 1, later, {}, lane.pipeline().rule_names()));
      lane.replace(next, now);
    }
    std::array<const Frame*, 20> burst, dropped;
    for (std::size_t k = 0; k < burst.size(); ++k) burst[k] = &frames[i + k];
    if (together) {
      const std::size_t drops = lane.admit(burst, now, dropped);
      outcome.dropped.insert(outcome.dropped.end(), dropped.begin(), dropped.begin() + drops);
    } else {
      for (const Frame* frame : burst)
        if (!lane.admit(frame, roce::open_envelope(*frame), now)) outcome.dropped.push_back(frame);
    }
    drain();
  }
  outcome.books = lane.books();
  outcome.stats = lane.pipeline().rules()[0].stats();
  outcome.hits = lane.pipeline().event_hits();
  for (const EventOutcome& event : lane.pipeline().events().outcomes())
    outcome.happened.push_back(event.happened);
  for (; lane.inside() > 0; now += Duration{500}) drain();
  return outcome;
}

RuleConfig rule(auto change) {
  RuleConfig config;
  config.name = "r";
  config.delay = Duration{4000};
  change(config);
  return config;
}

void expect_the_same(const Outcome& apart, const Outcome& together) {
  EXPECT_EQ(apart.exits, together.exits);
  EXPECT_EQ(apart.dropped, together.dropped);
  EXPECT_TRUE(apart.books.holds() && together.books.holds());
  EXPECT_EQ(apart.books.direction.received, together.books.direction.received);
  for (std::size_t i = 0; i < apart.books.rules.size(); ++i)
    EXPECT_EQ(apart.books.rules[i].received, together.books.rules[i].received) << "rule " << i;
  EXPECT_EQ(apart.books.fragments, together.books.fragments);
  EXPECT_EQ(apart.books.truncated, together.books.truncated);
  EXPECT_GT(together.books.rules[0].received.frames, 1000U);
  // What its audit goes by.
  EXPECT_EQ(apart.stats.acted, together.stats.acted);
  EXPECT_EQ(apart.stats.fit, together.stats.fit);
  EXPECT_EQ(apart.stats.wander.delays.count, together.stats.wander.delays.count);
  EXPECT_EQ(apart.stats.wander.pairs(), together.stats.wander.pairs());
  EXPECT_EQ(apart.stats.corruptible, together.stats.corruptible);
  EXPECT_EQ(apart.stats.moved_for_order, together.stats.moved_for_order);
  EXPECT_EQ(apart.stats.moved_ns, together.stats.moved_ns);
  EXPECT_EQ(apart.stats.jitter.count, together.stats.jitter.count);
  // Sums of as many draws, but for how they are rounded.
  const auto &a = apart.stats.jitter, &b = together.stats.jitter;
  EXPECT_NEAR(a.mean(), b.mean(), 1e-12 * std::abs(a.mean()));
  EXPECT_NEAR(a.squares(), b.squares(), 1e-9 * a.squares());
}

void expect_the_same(const RuleConfig& config, std::size_t capacity = 4096) {
  const auto frames = frames_of_all_kinds();
  const auto apart = run<BurstLane>(frames, std::span(&config, 1), false, capacity);
  expect_the_same(apart, run<BurstLane>(frames, std::span(&config, 1), true, capacity));
  expect_the_same(apart, run<RoomLane>(frames, std::span(&config, 1), true, capacity));
}

TEST(LaneBurst, ADelay) {
  expect_the_same(rule([](auto&) {}));
}
/// Which are on the line, and what comes then overtakes them.
TEST(LaneBurst, AShorterDelayMeetsTrains) {
  const auto frames = frames_of_all_kinds();
  const RuleConfig first = rule([](auto& c) { c.keep_order = false; });
  const RuleConfig then = rule([](auto& c) {
    c.delay = Duration{1000};
    c.keep_order = false;
  });
  const auto of = [&]<class Lane>(bool together) {
    return run<Lane>(frames, std::span(&first, 1), together, 4096, std::span(&then, 1));
  };
  const auto apart = of.template operator()<BurstLane>(false);
  EXPECT_EQ(apart.exits, of.template operator()<BurstLane>(true).exits);
  EXPECT_EQ(apart.exits, of.template operator()<RoomLane>(true).exits);
}
TEST(LaneBurst, NoDelayAtAll) {
  expect_the_same(rule([](auto& c) { c.delay.reset(); }));
}
TEST(LaneBurst, WantOfRoom) {
  expect_the_same(rule([](auto&) {}), 64);
}
TEST(LaneBurst, Losses) {
  expect_the_same(rule([](auto& c) { c.loss = 0.1; }));
}
TEST(LaneBurst, Jitter) {
  expect_the_same(rule([](auto& c) { c.jitter = JitterConfig{UniformDelay{0, 9000}, {}}; }));
  expect_the_same(rule([](auto& c) {
    c.jitter = JitterConfig{UniformDelay{0, 9000}, {}};
    c.keep_order = false;
  }));
}
TEST(LaneBurst, JitterThatWanders) {
  expect_the_same(
      rule([](auto& c) { c.jitter = JitterConfig{UniformDelay{0, 9000}, Duration{100'000}}; }));
}
TEST(LaneBurst, StagesThatHoldBack) {
  expect_the_same(rule([](auto& c) { c.reorder = ReorderConfig{.fraction = 0.1, .frames = 3}; }));
  expect_the_same(
      rule([](auto& c) { c.reorder = ReorderConfig{.fraction = 0.1, .by = Duration{2000}}; }));
}

/// Of a burst only the frames that an event may be aimed at are opened; all others fare as without.
void expect_the_same(const RuleConfig& config, std::span<const EventConfig> events) {
  const auto frames = frames_of_all_kinds();
  const auto of = [&]<class Lane>(bool together) {
    return run<Lane>(frames, std::span(&config, 1), together, 4096, {}, events);
  };
  const auto apart = of.template operator()<BurstLane>(false);
  EXPECT_EQ(apart.happened, std::vector<std::uint64_t>(events.size(), 1));
  for (const auto& bursts :
       {of.template operator()<BurstLane>(true), of.template operator()<RoomLane>(true)}) {
    expect_the_same(apart, bursts);
    EXPECT_EQ(apart.happened, bursts.happened);
    EXPECT_EQ(apart.hits.packets, bursts.hits.packets);
    EXPECT_EQ(apart.hits.carried_out, bursts.hits.carried_out);
    EXPECT_EQ(apart.hits.lost_before, bursts.hits.lost_before);
  }
}

EventConfig event(std::string name, EventAction action, auto change) {
  EventConfig config;
  config.name = std::move(name);
  config.action = action;
  change(config);
  return config;
}

const std::array kEvents{
    // The first QP seen, which is 2, and a QP number; both late in the stream.
    event("late", EventAction::drop,
          [](auto& e) {
            e.qp = 1;
            e.psn_from = PsnFrom::absolute;
            e.psn = 1402;
          }),
    event("from the first", EventAction::delay,
          [](auto& e) {
            e.qpn = 4;
            e.psn_from = PsnFrom::start;
            e.psn = 1400;
            e.delay = Duration{3000};
          }),
    event("tenth of all", EventAction::drop, [](auto& e) { e.occurrence = 10; }),
};

TEST(LaneBurst, EventsUnderARuleThatOnlyWaits) {
  expect_the_same(rule([](auto&) {}), std::span(kEvents));
  expect_the_same(rule([](auto&) {}), std::span(kEvents).first(2));
}
TEST(LaneBurst, EventsUnderARuleThatLosesAndVaries) {
  expect_the_same(rule([](auto& c) {
                    c.loss = 0.1;
                    c.jitter = JitterConfig{UniformDelay{0, 9000}, {}};
                  }),
                  std::span(kEvents));
}
TEST(LaneBurst, EventsUnderARuleThatLooksAtFields) {
  expect_the_same(rule([](auto& c) { c.match.dest_qp = {{0, 5}}; }), std::span(kEvents));
}

TEST(LaneBurst, ARuleThatLooksAtFields) {
  expect_the_same(rule([](auto& c) { c.match.dest_qp = {{0, 5}}; }));
}

/// Frames that wait under the same rule side by side are admitted as a whole, and none too many.
TEST(LaneBurst, RunsOfSeveralRules) {
  const auto frames = frames_of_all_kinds();
  const std::array rules{rule([](auto& c) { c.match.dest_qp = {{0, 4}}; }), rule([](auto& c) {
                           c.name = "other";
                           c.match.dest_qp = {{5, 5}};
                           c.jitter = JitterConfig{UniformDelay{0, 9000}, {}};
                         })};
  const std::array<EventConfig, 1> events{
      event("tenth of all", EventAction::drop, [](auto& e) { e.occurrence = 10; })};
  for (const std::size_t capacity : {4096, 40, 1})
    for (const std::size_t some : {0, 1}) {
      const auto of = [&]<class Lane>(bool together) {
        return run<Lane>(frames, rules, together, capacity, {}, std::span(events).first(some));
      };
      const auto apart = of.template operator()<BurstLane>(false);
      expect_the_same(apart, of.template operator()<BurstLane>(true));
      expect_the_same(apart, of.template operator()<RoomLane>(true));
      EXPECT_EQ(apart.dropped.size() > 100, capacity < 100);
    }
}

/// A way out that takes some frames now and then, and a buffer before it that holds few: trains are
/// cut wherever that is. Every frame leaves once, in the order in which it came, and the books hold
/// all the time.
template <class Lane>
void trickle(std::size_t egress, std::uint64_t seed) {
  const auto frames = frames_of_all_kinds();
  const RuleConfig config = rule([](auto&) {});
  Lane lane(Pipeline(Direction::west_to_east, 1, std::span(&config, 1)),
            {.capacity = 256, .egress_capacity = egress});
  const Chance chance(seed, seed);
  Instant now = instant_from_ns(1'000'000);
  std::vector<const Frame*> left, kept;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0, turn = 0; i < frames.size() || lane.inside() > 0; ++turn) {
    const std::size_t most = std::min<std::size_t>(lane.egress_room(), 1 + chance.bits(turn) % 24);
    std::vector<const Frame*> burst, dropped(32);
    for (; burst.size() < most && i < frames.size(); ++i) burst.push_back(&frames[i]);
    lane.release(now, burst.size());
    dropped.resize(lane.admit(burst, now, dropped));
    for (const Frame* frame : burst)
      if (roce::is_plain_rocev2(*frame) && !std::ranges::count(dropped, frame))
        kept.push_back(frame);
    const auto out =
        lane.egress().first(std::min<std::size_t>(lane.egress().size(), chance.bits(turn, 1) % 20));
    for (const Frame* frame : out) {
      bytes += frame->size();
      if (roce::is_plain_rocev2(*frame)) left.push_back(frame);
    }
    lane.sent(out.size(), now);
    const Books books = lane.books();
    ASSERT_TRUE(books.holds()) << turn;
    ASSERT_EQ(books.direction.in_flight.frames, lane.inside());
    ASSERT_EQ(books.direction.sent.bytes, bytes);
    now += Duration{500};
  }
  EXPECT_EQ(left, kept);
  EXPECT_EQ(lane.release_error().count() + lane.pass_latency().count(),
            lane.books().direction.sent.frames);
}
TEST(LaneBurst, TrainsAreCutWhereTheWayOutEnds) {
  for (const std::size_t egress : {8U, 16U, 64U, 512U})
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      trickle<BurstLane>(egress, seed);
      trickle<RoomLane>(egress, seed);
    }
}

/// Given back with what is known of it: its own number and length.
TEST(LaneBurst, EachFrameOfATrainIsGivenBack) {
  std::vector<Frame> frames;
  for (std::uint32_t i = 0; i < 60; ++i) frames.push_back(test::roce_frame(1, i, i));
  const RuleConfig config = rule([](auto&) {});
  test::Recorder ledger;
  RoomLane lane(Pipeline(Direction::west_to_east, 1, std::span(&config, 1)), {}, &ledger);
  std::vector<const Frame*> all, dropped(32), given;
  for (const Frame& frame : frames) all.push_back(&frame);
  const auto view = [](const Frame* frame) { return roce::open_envelope(*frame); };
  const auto drop = [&](const Frame* frame) { given.push_back(frame); };
  for (std::size_t i = 0; i < all.size(); i += 20)
    ASSERT_EQ(lane.admit(std::span(all).subspan(i, 20), instant_from_ns(1000), dropped), 0U);
  lane.release(instant_from_ns(5000), 512 - 30);
  ASSERT_EQ(lane.egress_size(), 30U);
  lane.sent(5, instant_from_ns(5000));
  lane.lose_egress(view, drop);
  EXPECT_EQ(given.size(), 25U);
  lane.abandon(view, drop);
  lane.flush_ledger();
  EXPECT_TRUE(std::ranges::equal(given, std::span(all).subspan(5)));
  EXPECT_TRUE(lane.books().holds());
  ASSERT_EQ(ledger.records().size(), 55U);
  for (std::size_t i = 0; i < ledger.records().size(); ++i) {
    EXPECT_EQ(ledger.records()[i].number, i + 5);
    EXPECT_EQ(ledger.records()[i].fate, i < 25 ? Fate::link_down : Fate::stopped);
  }
}

TEST(PlainRocev2, IsOnlySaidOfWhatOpeningFinds) {
  unsigned plain = 0;
  for (const Frame& frame : frames_of_all_kinds()) {
    if (!roce::is_plain_rocev2(frame)) continue;
    ++plain;
    EXPECT_NE(bth_of(roce::open_envelope(frame)), nullptr);
  }
  EXPECT_GT(plain, 1000U);
  EXPECT_TRUE(roce::is_plain_rocev2(test::roce_frame()));
}

}  // namespace
}  // namespace lw::path
