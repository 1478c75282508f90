// SPDX-License-Identifier: BSD-3-Clause
// The loop of `run`, told the times of a capture, against the virtual time of `replay`.
#include "support/path_frames.h"
#include "unit/impair/way_lab.h"

namespace lw::impair {
namespace {

struct Stamped {
  Instant at;
  std::vector<std::byte> bytes;
};

std::vector<Stamped> a_capture() {
  std::vector<Stamped> frames;
  const Chance chance(3, 3);
  Instant at = instant_from_ns(5'000'000);
  for (std::uint32_t i = 0; i < 3000; ++i) {
    at += Duration{static_cast<std::int64_t>(chance.bits(i) % 3000)};
    frames.push_back({at, i % 9 == 8 ? test::other_frame(64 + i % 900)
                                     : test::roce_frame(i % 5, i, chance.bits(i, 1) % 1024)});
  }
  return frames;
}

std::vector<emulator::RuleConfig> every_kind_of_stage() {
  emulator::RuleConfig timed;
  timed.name = "timed";
  timed.match.dest_qp = {{0, 2}};
  timed.police = emulator::PoliceConfig{3e9, 20'000};
  timed.queue = emulator::BottleneckConfig{2e9, 30'000};
  timed.delay = Duration{40'000};
  timed.jitter = emulator::JitterConfig{emulator::NormalDelay{20'000, 5'000}, Duration{100'000}};
  emulator::RuleConfig drawn;
  drawn.name = "drawn";
  drawn.loss = emulator::GilbertElliott{.p = 0.05, .r = 0.4};
  drawn.delay = Duration{30'000};
  drawn.jitter = emulator::JitterConfig{emulator::UniformDelay{0, 25'000}, {}};
  drawn.keep_order = false;
  return {timed, drawn};
}

emulator::Pipeline pipeline() {
  const auto rules = every_kind_of_stage();
  return {emulator::Direction::west_to_east, 9, rules};
}

constexpr emulator::LinkConfig kLane{.capacity = 4096, .log_all = true};

std::vector<emulator::LedgerRecord> in_virtual_time(const std::vector<Stamped>& frames) {
  test::Recorder recorder;
  emulator::Link<int> link(pipeline(), kLane, &recorder);
  test::VirtualRun run(link);
  for (std::size_t i = 0; i < frames.size(); ++i)
    (void)run.admit(static_cast<int>(i), frames[i].bytes, frames[i].at);
  run.finish();
  link.flush_ledger();
  return recorder.records();
}

/// Each frame comes when its stamp says, and what is due before that leaves at its own time.
void drive(Way& way, RingPorts& ports, const std::vector<Stamped>& frames) {
  const auto until = [&](Instant end) {
    while (way.link().next_release() <= end) {
      told = way.link().next_release();
      way.turn(false);
      ports.take_all(1);
    }
  };
  for (const Stamped& frame : frames) {
    until(frame.at);
    told = frame.at;
    ports.put(0, frame.bytes);
    way.turn(true);
    ports.take_all(1);
  }
  until(frames.back().at + std::chrono::seconds(1));
}

TEST_F(WayTest, ToldACapturesTimesItDecidesAsReplayDoes) {
  RingPorts ports(*eal_, {0, 1});
  const auto frames = a_capture();
  told = frames.front().at;
  test::Recorder recorder;
  {
    Way way(ports[0], ports[1], pipeline(), kLane, &recorder, tell);
    drive(way, ports, frames);
    EXPECT_EQ(way.link().inside(), 0U);
    EXPECT_TRUE(way.link().accounting().holds());
  }
  const auto expected = in_virtual_time(frames);
  ASSERT_EQ(recorder.records().size(), expected.size());
  EXPECT_GE(expected.size(), frames.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto &a = recorder.records()[i], &b = expected[i];
    EXPECT_EQ(a.number, b.number);
    EXPECT_EQ(a.in, b.in);
    EXPECT_EQ(a.out, b.out) << "frame " << a.number;
    EXPECT_EQ(a.rule, b.rule);
    EXPECT_EQ(a.stage, b.stage);
    EXPECT_EQ(a.fate, b.fate);
  }
}

/// A clock on which each look takes as long as one does.
Instant step() noexcept { return told += Duration{20}; }

/// Rings keep what was sent, so what leaves in a turn is what it has counted as sent.
TEST_F(WayTest, WaitsForWhatIsAboutToBeDueAndForNothingElse) {
  RingPorts ports(*eal_, {4, 5});
  emulator::RuleConfig late;
  late.delay = Duration{10'000};
  const auto sent = [](const Way& way) { return way.link().tallies().sent.frames.get(); };
  for (const Duration before : {Duration{200}, Duration{2'000}}) {
    told = instant_from_ns(5'000'000);
    Way way(ports[0], ports[1], {emulator::Direction::west_to_east, 9, std::span(&late, 1)}, kLane,
            nullptr, step);
    ports.put(0, test::roce_frame(1, 1, 100));
    ASSERT_TRUE(way.turn(true));
    const Instant due = way.link().next_release();
    told = due - before;
    way.turn(true);
    const bool waited = before == Duration{200};
    EXPECT_EQ(sent(way), waited ? 1U : 0U);
    // Whether it waited or not: never before its time, and no longer than that takes.
    EXPECT_EQ(told >= due, waited);
    EXPECT_LT(told, waited ? due + Duration{100} : due - before + Duration{100});
    EXPECT_GE(way.link().release_error().minimum(), 0);
    ports.take_all(1);
  }
}

}  // namespace
}  // namespace lw::impair
