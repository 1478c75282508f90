// SPDX-License-Identifier: BSD-3-Clause
// Frames that are admitted together fare as if each had come by itself, whether or not the lane
// opens them.
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
using BurstLane = Lane<const Frame*, FramesInPlace>;

/// RoCE of all kinds and other frames, with a field flipped here and there.
std::vector<Frame> frames_of_all_kinds() {
  std::vector<Frame> frames;
  const Chance chance(5, 5);
  for (std::uint32_t i = 0; i < 2000; ++i) {
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

struct Outcome {
  std::vector<std::pair<const Frame*, Instant>> exits;
  std::vector<const Frame*> dropped;
  Books books;
  RuleStats stats;
};

Outcome run(const std::vector<Frame>& frames, std::span<const RuleConfig> rules, bool together,
            std::size_t capacity) {
  BurstLane lane(Pipeline(Direction::west_to_east, 1, rules), {.capacity = capacity});
  Outcome outcome;
  Instant now = instant_from_ns(1'000'000);
  const auto drain = [&] {
    lane.release(now);
    for (const Frame* frame : lane.egress()) outcome.exits.emplace_back(frame, now);
    lane.sent(lane.egress().size(), now);
  };
  for (std::size_t i = 0; i < frames.size(); i += 20, now += Duration{500}) {
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

void expect_the_same(const RuleConfig& config, std::size_t capacity = 4096) {
  const auto frames = frames_of_all_kinds();
  const auto apart = run(frames, std::span(&config, 1), false, capacity);
  const auto together = run(frames, std::span(&config, 1), true, capacity);
  EXPECT_EQ(apart.exits, together.exits);
  EXPECT_EQ(apart.dropped, together.dropped);
  EXPECT_TRUE(apart.books.holds() && together.books.holds());
  EXPECT_EQ(apart.books.direction.received, together.books.direction.received);
  EXPECT_EQ(apart.books.rules[0].received, together.books.rules[0].received);
  EXPECT_EQ(apart.books.fragments, together.books.fragments);
  EXPECT_EQ(apart.books.truncated, together.books.truncated);
  EXPECT_GT(together.books.rules[0].received.frames, 1000U);
  // What its audit goes by.
  EXPECT_EQ(apart.stats.acted, together.stats.acted);
  EXPECT_EQ(apart.stats.fit, together.stats.fit);
  EXPECT_EQ(apart.stats.corruptible, together.stats.corruptible);
  EXPECT_EQ(apart.stats.moved_for_order, together.stats.moved_for_order);
  EXPECT_EQ(apart.stats.moved_ns, together.stats.moved_ns);
  EXPECT_EQ(apart.stats.jitter.count, together.stats.jitter.count);
  EXPECT_DOUBLE_EQ(apart.stats.jitter.mean(), together.stats.jitter.mean());
  EXPECT_DOUBLE_EQ(apart.stats.jitter.squares(), together.stats.jitter.squares());
}

TEST(LaneBurst, ADelay) {
  expect_the_same(rule([](auto&) {}));
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
TEST(LaneBurst, ARuleThatLooksAtFields) {
  expect_the_same(rule([](auto& c) { c.match.dest_qp = {{0, 5}}; }));
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
