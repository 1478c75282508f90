// SPDX-License-Identifier: BSD-3-Clause
// Both directions of a port forwarder with the times of two captures against a replay of them.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "impair/control/replay_runner.h"
#include "impair/datapath/configuration.h"
#include "support/path_frames.h"
#include "support/temporary.h"
#include "unit/impair/forwarder_lab.h"

namespace lw::impair {
namespace forwarder_replay_test {

using emulator::Direction;
using test::RingPorts;
using test::test_time;

constexpr std::string_view kProfile = R"(
seed = 7
[capacity]
rate = "1Gb/s"
smallest_frame = "64B"
largest_frame = "1500B"
[ledger]
all = true
[[rule]]
name = "lossless"
match = {dst_qp = "0-1"}
delay = "200us"
queue = {rate = "400Mb/s", buffer = "1MB", pfc = {xoff = "6kB", xon = "3kB", link = "100Gb/s"}}
[[rule]]
name = "timed"
match = {dst_qp = "2-3"}
police = {rate = "80Mb/s", burst = "3kB"}
delay = "40us"
jitter = {distribution = "normal", mean = "20us", deviation = "5us", half_life = "100us"}
[[rule]]
name = "drawn"
loss = "5%"
duplicate = "5%"
delay = "30us"
jitter = {distribution = "uniform", low = "0us", high = "25us"}
order = "free"
)";

struct Coming {
  Instant at;
  Direction direction;
  std::vector<std::byte> bytes;
};

/// Five QPs each way, what isn't RoCE, and now and then a pause frame.
std::vector<Coming> two_captures() {
  std::vector<Coming> frames;
  for (const Direction direction : {Direction::west_to_east, Direction::east_to_west}) {
    const Chance chance(3, static_cast<std::uint64_t>(direction));
    Instant at = instant_from_ns(5'000'000);
    for (std::uint32_t i = 0; i < 3000; ++i) {
      at += Duration{static_cast<std::int64_t>(chance.bits(i) % 20'000)};
      wire::PfcFields asked;
      asked.quanta[3] = static_cast<std::uint16_t>(chance.bits(i, 2) % 800);
      const auto pause = wire::pfc_frame({}, asked);
      frames.push_back({at, direction,
                        i % 97 == 96 ? std::vector(pause.begin(), pause.end())
                        : i % 9 == 8 ? test::other_frame(64 + i % 900)
                                     : test::roce_frame(i % 5, i, chance.bits(i, 1) % 512)});
    }
  }
  std::ranges::stable_sort(frames, {}, &Coming::at);
  return frames;
}

LiveProfile::Version version() { return LiveProfile::parse(kProfile, {"test"}).value(); }

/// All that a record says which can be compared as one: times in ns.
auto key_of(const emulator::LedgerRecord& r) {
  return std::tuple(r.direction, r.number, r.copy, to_ns(r.in), r.went_out() ? to_ns(r.out) : 0,
                    r.rule, r.stage, r.acted.bits(), r.disposition, r.psn);
}

/// What was decided, and what both directions' first rules said and heard of pauses.
struct Outcome {
  std::vector<emulator::LedgerRecord> records;
  std::vector<emulator::PauseStats> pauses;

  void sort() { std::ranges::sort(records, {}, key_of); }
};

Outcome in_virtual_time(const std::vector<Coming>& frames) {
  const auto file =
      std::filesystem::path(lw::test::temporary_folder()) / "forwarder_replay_test.lwl";
  Outcome outcome;
  const LiveProfile::Version profile = version();
  {
    auto ledger = LedgerFile::create(file, LedgerFormat::binary, rule_names_of(profile.profile), 0);
    auto writer = capture::Writer::create("/dev/null", capture::Format::pcapng, {{}, {}});
    constexpr std::array kBoth = {Direction::west_to_east, Direction::east_to_west};
    ReplayRunner runner(profile, link_config(profile.profile), kBoth, ledger->get(), nullptr,
                        std::move(*writer));
    for (const Coming& frame : frames) {
      const auto length = static_cast<std::uint32_t>(frame.bytes.size());
      const capture::Record record{.bytes = frame.bytes, .wire_length = length, .stamp = frame.at};
      EXPECT_TRUE(runner.replay({record, roce::LinkType::ethernet, frame.direction}));
    }
    EXPECT_TRUE(runner.finish());
    Report report;
    runner.report(report);
    EXPECT_TRUE(report.accounts_hold());
    for (const auto& each : report.directions)
      outcome.pauses.push_back(each.stages[0].stats.pauses);
    EXPECT_TRUE((*ledger)->close());
  }
  std::ifstream stream(file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), {});
  const auto end = binary_ledger::read(std::as_bytes(std::span(text)),
                                       [&](const emulator::LedgerRecord& record, const RuleNames&) {
                                         outcome.records.push_back(record);
                                       });
  EXPECT_TRUE(end && *end);
  std::filesystem::remove(file);
  outcome.sort();
  return outcome;
}

/// A forwarder of both directions with the test's clock. At one instant each direction is polled,
/// and then once more: the first hears what the second had to say.
class ClockedForwarder {
 public:
  ClockedForwarder(RingPorts& ports, const config::ImpairProfile& profile,
                   emulator::LedgerSink& ledger)
      : ports_(&ports),
        forwarder_(profile, link_config(profile),
                   std::array{PortIo(Direction::west_to_east, ports[0], ports[1], ports.pool(),
                                     test::test_clock),
                              PortIo(Direction::east_to_west, ports[1], ports[0], ports.pool(),
                                     test::test_clock)},
                   &ledger) {}

  void drive(const std::vector<Coming>& frames) {
    for (const Coming& frame : frames) {
      until(frame.at);
      at(frame.at, &frame);
    }
    until(frames.back().at + std::chrono::seconds(10));
  }
  [[nodiscard]] const PortForwarder& forwarder() const { return forwarder_; }

 private:
  void at(Instant now, const Coming* frame) {
    test_time = now;
    for (int round = 0; round < 2; ++round)
      for (const Direction direction : {Direction::west_to_east, Direction::east_to_west})
        poll(direction, round == 0 && frame && frame->direction == direction ? frame : nullptr);
  }
  void poll(Direction direction, const Coming* frame) {
    const bool east = direction == Direction::west_to_east;
    if (frame) ports_->put(east ? 0 : 1, frame->bytes);
    forwarder_.poll(direction, frame != nullptr);
    ports_->take_all(east ? 1 : 0);
  }
  void until(Instant end) {
    while (forwarder_.next_work() <= end) at(forwarder_.next_work(), nullptr);
  }

  RingPorts* ports_;
  PortForwarder forwarder_;
};

TEST_F(ForwarderTest, BothDirectionsDecideAsReplayDoesAtTheTimesOfTwoCaptures) {
  const auto frames = two_captures();
  test_time = frames.front().at;
  RingPorts ports(*eal_, {2, 3});
  test::Recorder recorder;
  Outcome looped;
  {
    ClockedForwarder clocked(ports, version().profile, recorder);
    clocked.drive(frames);
    for (const Direction direction : {Direction::west_to_east, Direction::east_to_west}) {
      const auto* link = &clocked.forwarder().link(direction);
      EXPECT_EQ(link->inside(), 0U);
      EXPECT_TRUE(link->accounting().holds());
      const emulator::PauseStats& pauses = link->pipeline().rules()[0].stats().pauses;
      EXPECT_GT(std::min({pauses.asked, pauses.ended, pauses.heard}), 5U) << "too tame a test";
      looped.pauses.push_back(pauses);
    }
  }
  looped.records = recorder.records();
  looped.sort();
  const Outcome replayed = in_virtual_time(frames);
  EXPECT_EQ(looped.pauses, replayed.pauses);
  EXPECT_GT(looped.records.size(), frames.size());
  ASSERT_EQ(looped.records.size(), replayed.records.size());
  for (std::size_t i = 0; i < looped.records.size(); ++i)
    ASSERT_EQ(key_of(looped.records[i]), key_of(replayed.records[i])) << i;
}

}  // namespace forwarder_replay_test
}  // namespace lw::impair
