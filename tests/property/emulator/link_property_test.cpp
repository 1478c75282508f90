// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include "support/path_frames.h"
#include "support/property.h"

namespace lw::emulator {
namespace {

/// A random box: few enough places that every way of being full is met.
struct Box {
  std::vector<RuleConfig> rules;
  LinkConfig config;
  std::uint64_t seed;
};

RuleConfig random_rule(int index) {
  RuleConfig rule;
  rule.name = "rule " + std::to_string(index);
  rule.match = *rc::gen::element(MatchedFrames::rocev2, MatchedFrames::everything);
  rule.west_to_east = *rc::gen::arbitrary<bool>();
  rule.loss = *rc::gen::element(0.0, 0.1, 0.5, 1.0);
  if (*rc::gen::arbitrary<bool>()) rule.delay = Duration{*rc::gen::inRange(0, 300)};
  return rule;
}

/// The same with any of the other stages, each as likely there as not.
RuleConfig random_stages(int index) {
  const auto maybe = [] { return *rc::gen::arbitrary<bool>(); };
  RuleConfig rule = random_rule(index);
  if (maybe()) rule.police = PoliceConfig{2e10, 2000, 24};
  if (maybe()) rule.loss = GilbertElliott{0.3, 0.5, 0.9, 0.1};
  if (maybe()) rule.corrupt = CorruptConfig{.probability = 0.3, .recompute_icrc = maybe()};
  if (maybe()) rule.duplicate = DuplicateConfig{0.4, *rc::gen::inRange<std::uint8_t>(1, 4)};
  if (maybe()) rule.queue = QueueConfig{4e10, 4000, 24};
  if (maybe())
    rule.mark = MarkConfig{.probability = 0.3, .not_ect = NotEct::drop, .force = maybe()};
  if (rule.mark && rule.queue) rule.mark->red = Red{500, 2000, 0.5};
  if (maybe()) rule.jitter = JitterConfig{UniformDelay{0, 400}, {}};
  if (maybe()) rule.reorder = ReorderConfig{.fraction = 0.3, .by = Duration{90}};
  if (rule.reorder && maybe())
    rule.reorder =
        ReorderConfig{.fraction = 0.3, .frames = 2, .at_most = Duration{200}, .swap = maybe()};
  if (rule.reorder && maybe())
    rule.reorder = ReorderConfig{.fraction = 0.3, .gap = maybe() ? 1U : 3U};
  rule.keep_order = maybe();
  return rule;
}

Box random_box(RuleConfig (*random)(int) = random_rule) {
  Box box;
  const int rules = *rc::gen::inRange(0, 5);
  for (int i = 0; i < rules; ++i) box.rules.push_back(random(i));
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

/// One random thing that can happen to a link; time never runs backwards.
template <class SomeLink>
void step(SomeLink& link, Instant& now, int& next_handle,
          const std::vector<std::vector<std::byte>>& frames) {
  now += Duration{*rc::gen::inRange(0, 60)};
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
      link.release(now);
      break;
    case 1:
      link.sent(*rc::gen::inRange<std::size_t>(0, link.egress().size() + 1), now);
      break;
    default: {
      const auto& frame = *rc::gen::elementOf(frames);
      (void)link.admit(next_handle++, roce::open_envelope(frame), now);
    }
  }
}

RC_GTEST_PROP(LinkProperty, EveryFrameIsAccountedForAtEveryInstant, ()) {
  const Box box = random_box();
  test::Recorder ledger;
  Link<int> link(Pipeline(Direction::west_to_east, box.seed, box.rules), box.config, &ledger);
  const auto frames = sample_frames();
  Instant now;
  int handle = 0;
  const int steps = *rc::gen::inRange(0, 120);
  for (int i = 0; i < steps; ++i) {
    step(link, now, handle, frames);
    const Accounting accounting = link.accounting();
    RC_ASSERT(accounting.holds());
    RC_ASSERT(accounting.direction.received.frames == static_cast<std::uint64_t>(handle));
    RC_ASSERT(accounting.direction.in_flight.frames == link.inside());
  }
  std::size_t back = 0;
  link.abandon([&](int) { return roce::open_envelope(frames[0]); }, [&](int) { ++back; });
  const Accounting accounting = link.accounting();
  RC_ASSERT(accounting.holds());
  RC_ASSERT(accounting.direction.in_flight.frames == 0U);
  RC_ASSERT(accounting.direction.dropped_for_resource[std::size_t(ResourceDrop::stopped)].frames ==
            back);
}

/// The same with stages that create, hold back, change and drop; and whoever is created goes
/// somewhere.
RC_GTEST_PROP(LinkProperty, EveryFrameIsAccountedForWhateverTheStages, ()) {
  const Box box = random_box(random_stages);
  test::Recorder ledger;
  auto bytes = test::roce_frame(1, 2, 300);
  int room = *rc::gen::inRange(0, 20);
  const int all_room = room;
  Link<int, test::SharedBytes> link(Pipeline(Direction::west_to_east, box.seed, box.rules),
                                    box.config, &ledger, test::SharedBytes(bytes, room));
  Instant now;
  int handle = 0, copies_out = 0;
  const int steps = *rc::gen::inRange(0, 90);
  for (int i = 0; i < steps; ++i) {
    step(link, now, handle, {bytes});
    const Accounting accounting = link.accounting();
    RC_ASSERT(accounting.holds());
    RC_ASSERT(accounting.direction.received.frames == static_cast<std::uint64_t>(handle));
    RC_ASSERT(accounting.direction.in_flight.frames == link.inside());
    RC_ASSERT(link.inside() == 0U || link.next_release() != ReleaseQueue<int>::kNever ||
              !link.egress().empty());
  }
  // All that is left goes out in time, in the order of its releases.
  const std::uint64_t sent_before = link.accounting().direction.sent.frames;
  const std::size_t left = link.inside();
  while (link.inside() > 0) {
    now =
        std::max(now, link.next_release() == ReleaseQueue<int>::kNever ? now : link.next_release());
    link.release(now);
    for (const int out : link.egress()) copies_out += out >= test::SharedBytes::kFirstCopy ? 1 : 0;
    link.sent(link.egress().size(), now);
  }
  RC_ASSERT(link.accounting().direction.sent.frames - sent_before == left);
  RC_ASSERT(copies_out <= all_room - room);
  RC_ASSERT(link.accounting().holds());
  link.flush_ledger();
  for (const auto& record : ledger.records()) RC_ASSERT(record.number < std::uint64_t(handle));
}

/// The ledger names exactly the frames that came in and did not go out; with `all`, every frame
/// once.
RC_GTEST_PROP(LinkProperty, TheLedgerNamesExactlyWhatDidNotGoOut, ()) {
  const Box box = random_box();
  test::Recorder ledger;
  Link<int> link(Pipeline(Direction::west_to_east, box.seed, box.rules), box.config, &ledger);
  test::VirtualRun run(link);
  const auto frames = sample_frames();
  const int count = *rc::gen::inRange(0, 200);
  Instant now;
  for (int i = 0; i < count; ++i) {
    now += Duration{*rc::gen::inRange(0, 30)};
    run.admit(i, *rc::gen::elementOf(frames), now);
  }
  run.finish();
  link.flush_ledger();
  std::map<std::uint64_t, int> seen;
  for (const auto& record : ledger.records())
    if (box.config.log_all || !record.went_out()) ++seen[record.number];
  if (!box.config.log_all)
    for (const test::Exit& exit : run.exits()) ++seen[static_cast<std::uint64_t>(exit.handle)];
  RC_ASSERT(seen.size() == static_cast<std::size_t>(count));
  RC_ASSERT(std::ranges::all_of(seen, [](const auto& entry) { return entry.second == 1; }));
  RC_ASSERT(link.accounting().holds());
}

/// Frames of one rule leave in the order in which they came, each exactly its delay later.
RC_GTEST_PROP(LinkProperty, OrderIsKeptAndDelayExact, ()) {
  RuleConfig rule;
  rule.name = "r";
  rule.loss = *rc::gen::element(0.0, 0.3);
  rule.delay = Duration{*rc::gen::inRange(0, 5000)};
  Link<int> link(Pipeline(Direction::west_to_east, 1, std::span(&rule, 1)), {.capacity = 300});
  test::VirtualRun run(link);
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
}  // namespace lw::emulator
