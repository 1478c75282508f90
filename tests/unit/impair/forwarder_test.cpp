// SPDX-License-Identifier: BSD-3-Clause
// A port forwarder with the times of a capture against a link in virtual time.
#include <algorithm>

#include <gmock/gmock.h>

#include "support/path_frames.h"
#include "unit/impair/forwarder_lab.h"

namespace lw::impair {
namespace forwarder_test {

using emulator::Direction;
using test::RingPorts;
using test::test_time;

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
  timed.queue = emulator::QueueConfig{2e9, 30'000};
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

config::ImpairProfile profile_of(std::vector<emulator::RuleConfig> rules) {
  config::ImpairProfile profile;
  profile.seed = 9;
  profile.rules = std::move(rules);
  return profile;
}

constexpr emulator::LinkConfig kLink{.capacity = 4096, .log_all = true};

std::vector<emulator::LedgerRecord> in_virtual_time(const std::vector<Stamped>& frames) {
  test::Recorder recorder;
  emulator::Link<int> link(pipeline_of(profile_of(every_kind_of_stage()), Direction::west_to_east),
                           kLink, &recorder);
  test::VirtualRun run(link);
  for (std::size_t i = 0; i < frames.size(); ++i)
    (void)run.admit(static_cast<int>(i), frames[i].bytes, frames[i].at);
  run.finish();
  link.flush_ledger();
  return recorder.records();
}

constexpr Direction kEast = Direction::west_to_east;

PortForwarder forwarder(RingPorts& ports, std::vector<emulator::RuleConfig> rules,
                        emulator::LedgerSink* ledger, PortIo::Clock clock) {
  const std::array ios = {PortIo(kEast, ports[0], ports[1], ports.pool(), clock)};
  return PortForwarder(profile_of(std::move(rules)), kLink, ios, ledger);
}

/// Each frame comes in at its stamp, and what is due before that leaves at its own time.
void drive(PortForwarder& forwarder, RingPorts& ports, const std::vector<Stamped>& frames) {
  const auto until = [&](Instant end) {
    while (forwarder.link(kEast).next_release() <= end) {
      test_time = forwarder.link(kEast).next_release();
      forwarder.poll(kEast, false);
      ports.take_all(1);
    }
  };
  for (const Stamped& frame : frames) {
    until(frame.at);
    test_time = frame.at;
    ports.put(0, frame.bytes);
    forwarder.poll(kEast, true);
    ports.take_all(1);
  }
  until(frames.back().at + std::chrono::seconds(1));
}

TEST_F(ForwarderTest, DecidesAsReplayDoesAtTheTimesOfACapture) {
  RingPorts ports(*eal_, {0, 1});
  const auto frames = a_capture();
  test_time = frames.front().at;
  test::Recorder recorder;
  {
    PortForwarder one_way = forwarder(ports, every_kind_of_stage(), &recorder, test::test_clock);
    drive(one_way, ports, frames);
    EXPECT_EQ(one_way.inside(), 0U);
    EXPECT_TRUE(one_way.link(kEast).accounting().holds());
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
    EXPECT_EQ(a.disposition, b.disposition);
  }
}

/// Frames at both sides of each limit, as they left: whether each lay in the arena.
std::vector<bool> lay_in_arena(RingPorts& ports, nic::FrameArena& arena,
                               const std::vector<std::vector<std::byte>>& frames, Duration delay) {
  emulator::RuleConfig late;
  late.delay = delay;
  test_time = instant_from_ns(5'000'000);
  const std::array ios = {
      PortIo(kEast, ports[0], ports[1], ports.pool(), test::test_clock, &arena)};
  PortForwarder one_way(profile_of({late}), kLink, ios, nullptr);
  for (const auto& frame : frames) ports.put(0, frame);
  one_way.poll(kEast, true);
  EXPECT_EQ(one_way.inside(), frames.size());
  test_time += delay;
  one_way.poll(kEast, false);
  std::vector<bool> in_arena;
  ports.take_all(1, [&](const rte_mbuf* frame) {
    const std::size_t i = in_arena.size();
    EXPECT_TRUE(std::ranges::equal(bytes_of(frame), frames[i])) << "frame " << i;
    in_arena.push_back(frame->pool == arena.pool());
  });
  EXPECT_EQ(arena.frames(), 0U);
  return in_arena;
}

TEST_F(ForwarderTest, SmallFramesThatWaitLieInTheArena) {
  RingPorts ports(*eal_, {6, 7});
  auto arena = nic::FrameArena::create("waiting", 1, false);
  ASSERT_TRUE(arena) << arena.error().message;
  const std::size_t headers = test::roce_frame(1, 0, 0).size();
  std::vector<std::vector<std::byte>> frames;
  for (const std::size_t length : {headers, std::size_t{254}, std::size_t{258}, std::size_t{1498}})
    frames.push_back(test::roce_frame(1, 0, length - headers));
  ASSERT_EQ(frames[2].size(), 258U);
  using testing::ElementsAre;
  EXPECT_THAT(lay_in_arena(ports, *arena, frames, Duration{10'000}),
              ElementsAre(true, true, false, false));
  EXPECT_THAT(lay_in_arena(ports, *arena, frames, Duration{9'999}),
              ElementsAre(false, false, false, false));
  // With few receive buffers left, all frames are copied.
  std::vector<rte_mbuf*> held;
  while (rte_mempool_avail_count(ports.pool()) > 1000)
    held.push_back(rte_pktmbuf_alloc(ports.pool()));
  EXPECT_THAT(lay_in_arena(ports, *arena, frames, Duration{10'000}),
              ElementsAre(true, true, true, true));
  for (rte_mbuf* buffer : held) rte_pktmbuf_free(buffer);
}

/// A batch is admitted as one train, which a recording that begins later must take apart.
TEST_F(ForwarderTest, FramesOfABatchKeepTheirNumbersInARecordingThatBeginsLater) {
  constexpr std::uint64_t kFrames = 16;
  RingPorts ports(*eal_, {8, 9});
  emulator::RuleConfig late;
  late.delay = Duration{10'000};
  test_time = instant_from_ns(5'000'000);
  PortForwarder one_way = forwarder(ports, {late}, nullptr, test::test_clock);
  for (std::uint32_t i = 0; i < kFrames; ++i) ports.put(0, test::roce_frame(1, i, 100));
  one_way.poll(kEast, true);
  Recorder recorder(kEast, 0, 1 << 16);
  one_way.record(kEast, &recorder);
  test_time += Duration{10'000};
  one_way.poll(kEast, true);
  for (std::uint64_t i = 0; i < kFrames; ++i) {
    ASSERT_TRUE(recorder.front()) << i;
    const CaptureRecord record = recorder.next().record;
    EXPECT_EQ(record.ledger.number, i);
    EXPECT_EQ(record.ledger.in, instant_from_ns(5'000'000));
    EXPECT_TRUE(record.out);
  }
  EXPECT_FALSE(recorder.front());
  ports.take_all(1);
}

/// A clock that advances with each call.
Instant stepping_clock() noexcept { return test_time += Duration{20}; }

/// A ring keeps what was sent: the test counts frames as the link counts them.
TEST_F(ForwarderTest, WaitsForWhatIsAboutToBeDueAndForNothingElse) {
  RingPorts ports(*eal_, {4, 5});
  emulator::RuleConfig late;
  late.delay = Duration{10'000};
  for (const Duration before : {Duration{200}, Duration{2'000}}) {
    test_time = instant_from_ns(5'000'000);
    PortForwarder one_way = forwarder(ports, {late}, nullptr, stepping_clock);
    ports.put(0, test::roce_frame(1, 1, 100));
    ASSERT_TRUE(one_way.poll(kEast, true));
    const Instant due = one_way.link(kEast).next_release();
    test_time = due - before;
    one_way.poll(kEast, true);
    const bool waited = before == Duration{200};
    EXPECT_EQ(one_way.link(kEast).counters().sent.frames.get(), waited ? 1U : 0U);
    // Never before its time, and no longer than that takes.
    EXPECT_EQ(test_time >= due, waited);
    EXPECT_LT(test_time, waited ? due + Duration{100} : due - before + Duration{100});
    EXPECT_GE(one_way.link(kEast).release_error().minimum(), 0);
    ports.take_all(1);
  }
}

}  // namespace forwarder_test
}  // namespace lw::impair
