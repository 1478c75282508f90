// SPDX-License-Identifier: BSD-3-Clause
// Frames that are admitted together fare as if each had come by itself, whether or not the link
// opens them.
#include <map>

#include <gtest/gtest.h>

#include "roce/plain_rocev2.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace link_burst_test {

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

/// The same where frames carry what a link knows of them.
struct FramesWithRoom : FramesInPlace {
  static inline std::map<const Frame*, Transit> room;
  static Transit& transit(const Frame* frame) noexcept { return room[frame]; }
};

using BurstLink = Link<const Frame*, FramesInPlace>;
using RoomLink = Link<const Frame*, FramesWithRoom>;

struct Outcome {
  std::vector<std::pair<const Frame*, Instant>> exits;
  std::vector<const Frame*> dropped;
  Accounting accounting;
  RuleStats stats;
  EventHits hits;
  std::vector<std::uint64_t> happened;
  std::vector<std::string> ledger;  // of every frame
};

/// All of a record.
std::string text_of(const LedgerRecord& r) {
  std::string text;
  for (const std::uint64_t value :
       {r.number, std::uint64_t(to_ns(r.in)), std::uint64_t(to_ns(r.out)), std::uint64_t{r.rule},
        std::uint64_t(r.direction), std::uint64_t(r.stage), std::uint64_t{r.acted.bits()},
        std::uint64_t{r.copy}, std::uint64_t(r.disposition), std::uint64_t(r.aimed),
        std::uint64_t{r.roce}, std::uint64_t{r.opcode}, std::uint64_t{r.qpn}, std::uint64_t{r.psn}})
    text += std::to_string(value) + " ";
  return text;
}

template <class Link>
Outcome run(const std::vector<Frame>& frames, std::span<const RuleConfig> rules, bool together,
            std::size_t capacity, std::span<const RuleConfig> later = {},
            std::span<const EventConfig> events = {}) {
  test::Recorder ledger;
  Link link(Pipeline(Direction::west_to_east, 1, rules, events),
            {.capacity = capacity, .log_all = true}, &ledger);
  Outcome outcome;
  Instant now = instant_from_ns(1'000'000);
  const auto drain = [&] {
    link.release(now);
    for (const Frame* frame : link.egress()) outcome.exits.emplace_back(frame, now);
    link.sent(link.egress().size(), now);
  };
  for (std::size_t i = 0; i < frames.size(); i += 20, now += Duration{500}) {
    if (i == frames.size() / 2 + 60 && !later.empty()) {
      typename Link::PreparedPipeline next(
          Pipeline(Direction::west_to_east, 1, later, {}, link.pipeline().rule_names()));
      link.replace(next, now);
    }
    std::array<const Frame*, 20> burst, dropped;
    for (std::size_t k = 0; k < burst.size(); ++k) burst[k] = &frames[i + k];
    if (together) {
      const std::size_t drops = link.admit(burst, now, dropped);
      outcome.dropped.insert(outcome.dropped.end(), dropped.begin(), dropped.begin() + drops);
    } else {
      for (const Frame* frame : burst)
        if (!link.admit(frame, roce::open_envelope(*frame), now)) outcome.dropped.push_back(frame);
    }
    drain();
  }
  outcome.accounting = link.accounting();
  outcome.stats = link.pipeline().rules()[0].stats();
  outcome.hits = link.pipeline().event_hits();
  for (const EventOutcome& event : link.pipeline().events().outcomes())
    outcome.happened.push_back(event.happened);
  for (; link.inside() > 40; now += Duration{500}) drain();
  // The rest stays until the end of the run.
  link.abandon([](const Frame* frame) { return roce::open_envelope(*frame); }, [](const Frame*) {});
  link.flush_ledger();
  for (const LedgerRecord& record : ledger.records()) outcome.ledger.push_back(text_of(record));
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
  EXPECT_TRUE(apart.accounting.holds() && together.accounting.holds());
  EXPECT_EQ(apart.accounting.direction.received, together.accounting.direction.received);
  for (std::size_t i = 0; i < apart.accounting.rules.size(); ++i)
    EXPECT_EQ(apart.accounting.rules[i].received, together.accounting.rules[i].received)
        << "rule " << i;
  EXPECT_EQ(apart.accounting.fragments, together.accounting.fragments);
  EXPECT_EQ(apart.accounting.truncated, together.accounting.truncated);
  EXPECT_EQ(apart.ledger, together.ledger);
  EXPECT_GE(apart.ledger.size(), 2000U);
  EXPECT_GT(together.accounting.rules[0].received.frames, 1000U);
  // What its audit goes by.
  EXPECT_EQ(apart.stats.acted, together.stats.acted);
  EXPECT_EQ(apart.stats.fit, together.stats.fit);
  EXPECT_EQ(apart.stats.tail_dropped, together.stats.tail_dropped);
  EXPECT_EQ(apart.stats.peak_queue_bytes, together.stats.peak_queue_bytes);
  EXPECT_EQ(apart.stats.service.link.busy_bytes, together.stats.service.link.busy_bytes);
  EXPECT_EQ(apart.stats.service.peak_bytes, together.stats.service.peak_bytes);
  EXPECT_EQ(apart.stats.correlated.delays.count, together.stats.correlated.delays.count);
  EXPECT_EQ(apart.stats.correlated.pairs(), together.stats.correlated.pairs());
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
  const auto apart = run<BurstLink>(frames, std::span(&config, 1), false, capacity);
  expect_the_same(apart, run<BurstLink>(frames, std::span(&config, 1), true, capacity));
  expect_the_same(apart, run<RoomLink>(frames, std::span(&config, 1), true, capacity));
}

TEST(LinkBurst, ADelay) {
  expect_the_same(rule([](auto&) {}));
}
/// Which are on the line, and what comes then overtakes them.
TEST(LinkBurst, AShorterDelayMeetsTrains) {
  const auto frames = frames_of_all_kinds();
  const RuleConfig first = rule([](auto& c) { c.keep_order = false; });
  const RuleConfig then = rule([](auto& c) {
    c.delay = Duration{1000};
    c.keep_order = false;
  });
  const auto of = [&]<class Link>(bool together) {
    return run<Link>(frames, std::span(&first, 1), together, 4096, std::span(&then, 1));
  };
  const auto apart = of.template operator()<BurstLink>(false);
  EXPECT_EQ(apart.exits, of.template operator()<BurstLink>(true).exits);
  EXPECT_EQ(apart.exits, of.template operator()<RoomLink>(true).exits);
}
/// A queue that has room for some bursts, for all, or for the first frames of each; and one whose
/// frames are taken back from the fibre when a change alters their departures.
TEST(LinkBurst, AQueue) {
  for (const auto& [gbps, buffer] : {std::pair{80, 100'000}, {80, 1500}, {30, 20'000}, {30, 300}})
    expect_the_same(rule([&](auto& c) {
      c.queue = QueueConfig{.rate_bps = gbps * 1e9, .buffer_bytes = std::uint64_t(buffer)};
    }));
}
/// A class may hold `alpha` times what is free, which is less for each frame of a burst.
TEST(LinkBurst, AQueueWithADynamicThreshold) {
  for (const double alpha : {0.125, 0.25, 1.0, 8.0})
    for (const std::uint64_t buffer : {1500U, 6000U, 20'000U, 60'000U})
      expect_the_same(rule([&](auto& c) {
        const QueueClassConfig one{.buffer = {.alpha = alpha}};
        c.shared = QueueUse{
            .owner = c.name,
            .queue = {.rate_bps = 30'000'000'000, .buffer_bytes = buffer, .classes = {one}},
            .pauses = {{}}};
      }));
}
TEST(LinkBurst, AQueueThatChanges) {
  const auto frames = frames_of_all_kinds();
  const RuleConfig first =
      rule([](auto& c) { c.queue = QueueConfig{.rate_bps = 38e9, .buffer_bytes = 20'000}; });
  const auto rates = {38e9, 10e9, 100e9};
  for (const double rate : rates)
    for (const std::int64_t delay : {0, 1000, 4000, 9000}) {
      const RuleConfig then = rule([&](auto& c) {
        c.delay = Duration{delay};
        c.queue = QueueConfig{.rate_bps = rate, .buffer_bytes = 9000};
      });
      const auto of = [&]<class Link>(bool together) {
        return run<Link>(frames, std::span(&first, 1), together, 4096, std::span(&then, 1));
      };
      const auto apart = of.template operator()<BurstLink>(false);
      expect_the_same(apart, of.template operator()<BurstLink>(true));
      expect_the_same(apart, of.template operator()<RoomLink>(true));
    }
}
TEST(LinkBurst, NoDelayAtAll) {
  expect_the_same(rule([](auto& c) { c.delay.reset(); }));
}
TEST(LinkBurst, WantOfRoom) {
  expect_the_same(rule([](auto&) {}), 64);
}
TEST(LinkBurst, Losses) {
  expect_the_same(rule([](auto& c) { c.loss = 0.1; }));
}
TEST(LinkBurst, Jitter) {
  expect_the_same(rule([](auto& c) { c.jitter = JitterConfig{UniformDelay{0, 9000}, {}}; }));
  expect_the_same(rule([](auto& c) {
    c.jitter = JitterConfig{UniformDelay{0, 9000}, {}};
    c.keep_order = false;
  }));
}
TEST(LinkBurst, JitterThatWanders) {
  expect_the_same(
      rule([](auto& c) { c.jitter = JitterConfig{UniformDelay{0, 9000}, Duration{100'000}}; }));
}
TEST(LinkBurst, StagesThatHoldBack) {
  expect_the_same(rule([](auto& c) { c.reorder = ReorderConfig{.fraction = 0.1, .frames = 3}; }));
  expect_the_same(
      rule([](auto& c) { c.reorder = ReorderConfig{.fraction = 0.1, .by = Duration{2000}}; }));
}

/// Of a burst only the frames that an event may be aimed at are opened; all others fare as without.
void expect_the_same(const RuleConfig& config, std::span<const EventConfig> events) {
  const auto frames = frames_of_all_kinds();
  const auto of = [&]<class Link>(bool together) {
    return run<Link>(frames, std::span(&config, 1), together, 4096, {}, events);
  };
  const auto apart = of.template operator()<BurstLink>(false);
  EXPECT_EQ(apart.happened, std::vector<std::uint64_t>(events.size(), 1));
  for (const auto& bursts :
       {of.template operator()<BurstLink>(true), of.template operator()<RoomLink>(true)}) {
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

TEST(LinkBurst, EventsUnderARuleThatOnlyWaits) {
  expect_the_same(rule([](auto&) {}), std::span(kEvents));
  expect_the_same(rule([](auto&) {}), std::span(kEvents).first(2));
}
TEST(LinkBurst, EventsUnderARuleThatLosesAndVaries) {
  expect_the_same(rule([](auto& c) {
                    c.loss = 0.1;
                    c.jitter = JitterConfig{UniformDelay{0, 9000}, {}};
                  }),
                  std::span(kEvents));
}
TEST(LinkBurst, EventsUnderARuleThatLooksAtFields) {
  expect_the_same(rule([](auto& c) { c.match.dest_qp = {{0, 5}}; }), std::span(kEvents));
}

TEST(LinkBurst, ARuleThatLooksAtFields) {
  expect_the_same(rule([](auto& c) { c.match.dest_qp = {{0, 5}}; }));
}

/// Frames that wait under the same rule side by side are admitted as a whole, and none too many.
TEST(LinkBurst, RunsOfSeveralRules) {
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
      const auto of = [&]<class Link>(bool together) {
        return run<Link>(frames, rules, together, capacity, {}, std::span(events).first(some));
      };
      const auto apart = of.template operator()<BurstLink>(false);
      expect_the_same(apart, of.template operator()<BurstLink>(true));
      expect_the_same(apart, of.template operator()<RoomLink>(true));
      EXPECT_EQ(apart.dropped.size() > 100, capacity < 100);
    }
}

/// A way out that takes some frames now and then, and a buffer before it that holds few: trains are
/// cut wherever that is. Every frame leaves once, in the order in which it came, and the accounting
/// hold all the time.
template <class Link>
void trickle(std::size_t egress, std::uint64_t seed) {
  const auto frames = frames_of_all_kinds();
  const RuleConfig config = rule([](auto&) {});
  Link link(Pipeline(Direction::west_to_east, 1, std::span(&config, 1)),
            {.capacity = 256, .egress_capacity = egress});
  const Chance chance(seed, seed);
  Instant now = instant_from_ns(1'000'000);
  std::vector<const Frame*> left, kept;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0, turn = 0; i < frames.size() || link.inside() > 0; ++turn) {
    const std::size_t most = std::min<std::size_t>(link.egress_room(), 1 + chance.bits(turn) % 24);
    std::vector<const Frame*> burst, dropped(32);
    for (; burst.size() < most && i < frames.size(); ++i) burst.push_back(&frames[i]);
    link.release(now, burst.size());
    dropped.resize(link.admit(burst, now, dropped));
    for (const Frame* frame : burst)
      if (roce::is_plain_rocev2(*frame) && !std::ranges::count(dropped, frame))
        kept.push_back(frame);
    const auto out =
        link.egress().first(std::min<std::size_t>(link.egress().size(), chance.bits(turn, 1) % 20));
    for (const Frame* frame : out) {
      bytes += frame->size();
      if (roce::is_plain_rocev2(*frame)) left.push_back(frame);
    }
    link.sent(out.size(), now);
    const Accounting accounting = link.accounting();
    ASSERT_TRUE(accounting.holds()) << turn;
    ASSERT_EQ(accounting.direction.in_flight.frames, link.inside());
    ASSERT_EQ(accounting.direction.sent.bytes, bytes);
    now += Duration{500};
  }
  EXPECT_EQ(left, kept);
  EXPECT_EQ(link.release_error().count() + link.pass_latency().count(),
            link.accounting().direction.sent.frames);
  EXPECT_EQ(link.delay().count(), link.release_error().count() + link.inside());
}

TEST(LinkBurst, TrainsAreCutWhereTheWayOutEnds) {
  for (const std::size_t egress : {8U, 16U, 64U, 512U})
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      trickle<BurstLink>(egress, seed);
      trickle<RoomLink>(egress, seed);
    }
}

/// Given back with what is known of it: its own number and length.
TEST(LinkBurst, EachFrameOfATrainIsGivenBack) {
  std::vector<Frame> frames;
  for (std::uint32_t i = 0; i < 60; ++i) frames.push_back(test::roce_frame(1, i, i));
  const RuleConfig config = rule([](auto&) {});
  test::Recorder ledger;
  RoomLink link(Pipeline(Direction::west_to_east, 1, std::span(&config, 1)), {}, &ledger);
  std::vector<const Frame*> all, dropped(32), given;
  for (const Frame& frame : frames) all.push_back(&frame);
  const auto view = [](const Frame* frame) { return roce::open_envelope(*frame); };
  const auto drop = [&](const Frame* frame) { given.push_back(frame); };
  for (std::size_t i = 0; i < all.size(); i += 20)
    ASSERT_EQ(link.admit(std::span(all).subspan(i, 20), instant_from_ns(1000), dropped), 0U);
  link.release(instant_from_ns(5000), 512 - 30);
  ASSERT_EQ(link.egress_size(), 30U);
  link.sent(5, instant_from_ns(5000));
  link.lose_egress(view, drop);
  EXPECT_EQ(given.size(), 25U);
  link.abandon(view, drop);
  link.flush_ledger();
  EXPECT_TRUE(std::ranges::equal(given, std::span(all).subspan(5)));
  EXPECT_TRUE(link.accounting().holds());
  ASSERT_EQ(ledger.records().size(), 55U);
  for (std::size_t i = 0; i < ledger.records().size(); ++i) {
    EXPECT_EQ(ledger.records()[i].number, i + 5);
    EXPECT_EQ(ledger.records()[i].disposition,
              i < 25 ? Disposition::link_down : Disposition::stopped);
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

/// A header-independent rule does not open a frame. `offset` needs the packet's size.
TEST(LinkBurst, CorruptionAtAnOffsetIsTheSameInABurst) {
  const RuleConfig config = rule([](RuleConfig& c) {
    c.corrupt = CorruptConfig{.probability = 0.5, .bits = 3, .offset = 20};
  });
  const auto frames = frames_of_all_kinds();
  const auto together = run<BurstLink>(frames, std::span(&config, 1), true, 4096);
  EXPECT_GT(together.stats.by(Stage::corrupt), 500U);
  expect_the_same(run<BurstLink>(frames, std::span(&config, 1), false, 4096), together);
}

}  // namespace link_burst_test
}  // namespace lw::emulator
