// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include "support/path_frames.h"
#include "support/property.h"

namespace lw::path {
namespace {

/// A random box: few enough places that every way of being full is met.
struct Box {
  std::vector<RuleConfig> rules;
  LaneConfig config;
  std::uint64_t seed;
};

RuleConfig random_rule(int index) {
  RuleConfig rule;
  rule.name = "rule " + std::to_string(index);
  rule.match = *rc::gen::element(Match::rocev2, Match::everything);
  rule.west_to_east = *rc::gen::arbitrary<bool>();
  rule.loss = *rc::gen::element(0.0, 0.1, 0.5, 1.0);
  if (*rc::gen::arbitrary<bool>()) rule.delay = Duration{*rc::gen::inRange(0, 300)};
  return rule;
}

Box random_box() {
  Box box;
  const int rules = *rc::gen::inRange(0, 5);
  for (int i = 0; i < rules; ++i) box.rules.push_back(random_rule(i));
  box.config = {.capacity = *rc::gen::inRange<std::size_t>(1, 40),
                .egress_capacity = *rc::gen::inRange<std::size_t>(1, 20),
                .log_all = *rc::gen::arbitrary<bool>()};
  box.seed = *rc::gen::arbitrary<std::uint64_t>();
  return box;
}

std::vector<std::vector<std::byte>> sample_frames() {
  auto fragment = test::roce_frame();
  fragment[14 + 6] = std::byte{0x20};
  return {test::roce_frame(), test::roce_frame(1, 2, 1024), test::other_frame(), fragment, {}};
}

/// One random thing that can happen to a lane; time never runs backwards.
void step(Lane<int>& lane, Instant& now, int& next_handle,
          const std::vector<std::vector<std::byte>>& frames) {
  now += Duration{*rc::gen::inRange(0, 60)};
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      lane.release(now);
      break;
    case 1:
      lane.sent(*rc::gen::inRange<std::size_t>(0, lane.egress().size() + 1), now);
      break;
    default: {
      const auto& frame = *rc::gen::elementOf(frames);
      (void)lane.admit(next_handle++, roce::open_envelope(frame), now);
    }
  }
}

RC_GTEST_PROP(LaneProperty, EveryFrameIsAccountedForAtEveryInstant, ()) {
  const Box box = random_box();
  test::Recorder ledger;
  Lane<int> lane(Pipeline(Direction::west_to_east, box.seed, box.rules), box.config, &ledger);
  const auto frames = sample_frames();
  Instant now;
  int handle = 0;
  const int steps = *rc::gen::inRange(0, 120);
  for (int i = 0; i < steps; ++i) {
    step(lane, now, handle, frames);
    const Books books = lane.books();
    RC_ASSERT(books.holds());
    RC_ASSERT(books.direction.received.frames == static_cast<std::uint64_t>(handle));
    RC_ASSERT(books.direction.in_flight.frames == lane.inside());
  }
  std::size_t back = 0;
  lane.abandon([&](int) { return roce::open_envelope(frames[0]); }, [&](int) { ++back; });
  const Books books = lane.books();
  RC_ASSERT(books.holds());
  RC_ASSERT(books.direction.in_flight.frames == 0U);
  RC_ASSERT(books.direction.dropped_for_want[std::size_t(Want::stopped)].frames == back);
}

/// The ledger names exactly the frames that came in and did not go out; with `all`, every frame
/// once.
RC_GTEST_PROP(LaneProperty, TheLedgerNamesExactlyWhatDidNotGoOut, ()) {
  const Box box = random_box();
  test::Recorder ledger;
  Lane<int> lane(Pipeline(Direction::west_to_east, box.seed, box.rules), box.config, &ledger);
  test::VirtualRun run(lane);
  const auto frames = sample_frames();
  const int count = *rc::gen::inRange(0, 200);
  Instant now;
  for (int i = 0; i < count; ++i) {
    now += Duration{*rc::gen::inRange(0, 30)};
    run.admit(i, *rc::gen::elementOf(frames), now);
  }
  run.finish();
  lane.flush_ledger();
  std::map<std::uint64_t, int> seen;
  for (const auto& record : ledger.records())
    if (box.config.log_all || !record.went_out()) ++seen[record.number];
  if (!box.config.log_all)
    for (const test::Exit& exit : run.exits()) ++seen[static_cast<std::uint64_t>(exit.handle)];
  RC_ASSERT(seen.size() == static_cast<std::size_t>(count));
  RC_ASSERT(std::ranges::all_of(seen, [](const auto& entry) { return entry.second == 1; }));
  RC_ASSERT(lane.books().holds());
}

/// Frames of one rule leave in the order in which they came, each exactly its delay later.
RC_GTEST_PROP(LaneProperty, OrderIsKeptAndDelayExact, ()) {
  RuleConfig rule;
  rule.name = "r";
  rule.loss = *rc::gen::element(0.0, 0.3);
  rule.delay = Duration{*rc::gen::inRange(0, 5000)};
  Lane<int> lane(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {});
  test::VirtualRun run(lane);
  const auto frame = test::roce_frame();
  std::vector<Instant> came;
  const int count = *rc::gen::inRange(0, 300);
  Instant now;
  for (int i = 0; i < count; ++i) {
    now += Duration{*rc::gen::inRange(0, 40)};
    came.push_back(now);
    (void)run.admit(i, frame, now);
  }
  run.finish();
  int last = -1;
  for (const test::Exit& exit : run.exits()) {
    RC_ASSERT(exit.handle > last);
    last = exit.handle;
    RC_ASSERT(exit.at == came[static_cast<std::size_t>(exit.handle)] + *rule.delay);
  }
}

}  // namespace
}  // namespace lw::path
