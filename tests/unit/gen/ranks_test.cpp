// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gen/ranks/assignment.h"
#include "gen/ranks/clock_comparison.h"
#include "gen/ranks/rank_timing.h"
#include "gen/ranks/run_messages.h"
#include "gen/report/flow_report.h"
#include "gen/report/run_parts.h"
#include "measured.h"
#include "report/figures/json.h"
#include "report/figures/read_json.h"

namespace lw::gen {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;

Instant time_at(std::int64_t ns) { return instant_from_ns(ns); }

/// The other clock is 1000 ns ahead. The two ways of a round trip take different times.
TEST(ClockComparison, TheShortestRoundTripCountsAndBoundsTheError) {
  ClockComparison comparison;
  comparison.add(time_at(0), time_at(1000 + 900), time_at(1000));  // 900 there, 100 back
  EXPECT_EQ(comparison.result().ahead, nanoseconds(1400));
  EXPECT_EQ(comparison.result().bound, nanoseconds(500));
  comparison.add(time_at(5000), time_at(6000 + 30), time_at(5101));  // 30 there, 71 back
  EXPECT_EQ(comparison.result().ahead, nanoseconds(980));
  EXPECT_EQ(comparison.result().bound, nanoseconds(51));
  comparison.add(time_at(9000), time_at(10'000 + 200), time_at(9400));  // longer: changes nothing
  EXPECT_EQ(comparison.result().ahead, nanoseconds(980));
  EXPECT_EQ(comparison.result().round_trips, 3u);
}

/// Whatever the two ways take, the truth is within the bound.
TEST(ClockComparison, TheTruthIsWithinTheBound) {
  for (std::int64_t there = 0; there <= 40; ++there) {
    for (std::int64_t back = 0; back <= 40; ++back) {
      ClockComparison comparison;
      comparison.add(time_at(100), time_at(100 + there - 7777), time_at(100 + there + back));
      const auto [ahead, bound, trips] = comparison.result();
      EXPECT_LE(std::abs((ahead + nanoseconds(7777)).count()), bound.count());
    }
  }
}

TEST(RankTiming, TheBoundOfAStampIsTheLargerOfStartAndEnd) {
  RankTiming timing{
      .clock = {.before = {nanoseconds(700), nanoseconds(50), 9}, .after = {}, .corrected = true}};
  EXPECT_EQ(timing.stamp_bound(), nanoseconds(50));
  timing.clock.after = {nanoseconds(-300), nanoseconds(20), 9};  // drifted
  EXPECT_EQ(timing.stamp_bound(), nanoseconds(320));
  timing.clock.corrected = false;  // PTP's clocks: what was found counts as an error
  EXPECT_EQ(timing.stamp_bound(), nanoseconds(750));
}

TEST(CommonStart, TheSkewIsBetweenTheFirstAndTheLastThatReported) {
  std::vector<RankTiming> ranks(4);
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = {.clock = {.before = {{}, nanoseconds(10 * static_cast<int>(i)), 1},
                          .after = {},
                          .corrected = true},
                .reported = i != 2,
                .late = nanoseconds(100 * static_cast<int>(i))};
  const CommonStart start = start_of(ranks, nanoseconds(350));
  EXPECT_EQ(start.skew, nanoseconds(300));
  EXPECT_EQ(start.bound, nanoseconds(50));  // 30 and 20
  EXPECT_TRUE(start.holds());
  EXPECT_FALSE(start_of(ranks, nanoseconds(349)).holds());
}

config::FlowProfile ranks_profile(const std::string& text) {
  auto profile = config::parse_flow_profile(text, "x.toml");
  EXPECT_TRUE(profile) << profile.error().message;
  return *profile;
}

constexpr const char* kThreeHosts = R"([[host]]
name = "sink"
rank = 2
receive = ["eth1"]
[[host]]
name = "node7"
ports = ["eth2"]
[[flow]]
name = "a"
host = "node7"
[[flow]]
name = "b"
qps = 3
[[flow]]
name = "c"
[[flow]]
name = "d"
)";

std::vector<RankSelf> three_ranks() {
  return {{.machine = "node5", .address = {}, .ports = {"eth0"}, .receive = {}},
          {.machine = "node7.lab", .address = {}, .ports = {}, .receive = {}},
          {.machine = "node9", .address = {}, .ports = {}, .receive = {}}};
}

TEST(Assignment, HostsHaveTheirFlowsAndOthersGoInTurnToThoseThatSend) {
  const auto profile = ranks_profile(kThreeHosts);
  const auto shares = shares_of(profile, three_ranks());
  ASSERT_TRUE(shares) << shares.error().message;
  EXPECT_THAT((*shares)[0].flows, ElementsAre(1, 2, 3, 5));  // b with its QPs, and d
  EXPECT_THAT((*shares)[1].flows, ElementsAre(0, 4));
  EXPECT_THAT((*shares)[2].flows, ElementsAre());
  EXPECT_EQ((*shares)[0].host, "node5");
  EXPECT_EQ((*shares)[1].host, "node7");  // without its domain
  EXPECT_THAT((*shares)[1].ports, ElementsAre("eth2"));
  EXPECT_EQ((*shares)[2].host, "sink");
  EXPECT_THAT((*shares)[2].receive, ElementsAre("eth1"));
  const auto part = part_of(profile, (*shares)[0]);
  ASSERT_EQ(part.flows.size(), 4u);
  EXPECT_EQ(part.flows[3].id, 5u);  // its number in the whole profile
  EXPECT_EQ(part.flows[3].name, "d");
}

TEST(Assignment, RanksOfOneMachineHaveTheirNumbers) {
  auto ranks = three_ranks();
  ranks[1].machine = "node5";
  EXPECT_EQ(usual_name(ranks, 0), "node5/0");
  EXPECT_EQ(usual_name(ranks, 1), "node5/1");
  EXPECT_EQ(usual_name(ranks, 2), "node9");
}

/// A mistake of a profile for three ranks, and what is said.
struct HostMistake {
  std::string from, to, said;
};

TEST(Assignment, MistakesHaveThePlaceOfTheirHost) {
  const HostMistake mistakes[] = {
      {"rank = 2", "rank = 3", "x.toml:1:1: host \"sink\": expected a rank below 3"},
      {"rank = 2", "rank = 1",
       "x.toml:5:1: host \"node7\": expected another rank than that of "
       "host \"sink\", found 1"},
      {"\"node7\"\nports", "\"node8\"\nports",
       "x.toml:5:1: host \"node8\": expected a machine that runs a rank (node5, node7.lab, node9)"},
      {"ports = [\"eth2\"]\n", "",
       "x.toml:5:1: host \"node7\": expected ports, or --port, to send flow \"a\", found none"},
      {"receive = [\"eth1\"]\n", "", "rank 2 (sink): expected flows to send or a port to receive"}};
  for (const auto& [from, to, said] : mistakes) {
    std::string text = kThreeHosts;
    text.replace(text.find(from), from.size(), to);
    if (to.contains("node8")) text.replace(text.find("host = \"node7\""), 14, "host = \"node8\"");
    const auto shares = shares_of(ranks_profile(text), three_ranks());
    ASSERT_FALSE(shares) << said;
    EXPECT_THAT(shares.error().message, HasSubstr(said));
  }
}

TEST(Assignment, AFlowNeedsAKnownHost) {
  const auto profile = config::parse_flow_profile(
      "[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"\nrank = 70000\n[[flow]]\nhost = \"b\"\n",
      "x.toml");
  ASSERT_FALSE(profile);
  EXPECT_THAT(profile.error().message,
              HasSubstr("x.toml:4:8: name: expected a unique name, found \"a\" again"));
  EXPECT_THAT(profile.error().message, HasSubstr("x.toml:5:8: rank: expected"));
  EXPECT_THAT(profile.error().message,
              HasSubstr("x.toml:7:8: host: expected the name of a [[host]], found \"b\""));
}

FlowCounters ranks_counters(std::uint64_t base) {
  FlowCounters counters;
  counters.frames = base;
  counters.bytes = base * 100;
  counters.wire_bytes = base * 124;
  counters.payload_bytes = base * 40;
  counters.messages = base / 2;
  counters.unsigned_frames = 3;
  counters.begin = nanoseconds(base);
  counters.span = nanoseconds(base * 1000);
  counters.late = nanoseconds(7);
  counters.shared = nanoseconds(9);
  counters.not_sent = 2;
  counters.faults[1] = base + 1;
  return counters;
}

TEST(RunParts, TheWholeIsTheSumOfItsParts) {
  RunReport first, second;
  first.flows = {ranks_counters(10)};
  second.flows = {ranks_counters(1000), ranks_counters(500)};
  first.elapsed = nanoseconds(5);
  second.elapsed = nanoseconds(8);
  second.started_late = nanoseconds(77);
  second.missed = 4;
  first.audit.pacing_error.add(1'000'003, 4);
  second.audit.pacing_error.add(12);
  second.audit.icrc_checked = 6;
  first.audit.late_frames = 3;
  second.audit.late_frames = 5;
  second.ports.push_back({"eth1", {}, {}});
  second.ports[0].refused.add(NotSentReason::ring_full, 2);
  WholeRun whole(3, {"a", "b"}, {});
  ASSERT_TRUE(whole.add(0, part_text(first, nullptr), {1}));
  ASSERT_TRUE(whole.add(1, part_text(second, nullptr), {0, 2}));
  EXPECT_EQ(whole.sent.total().frames, 1510u);
  for (const auto& [id, base] : {std::pair{1, 10}, {0, 1000}, {2, 500}}) {
    const FlowCounters& found = whole.sent.flows[static_cast<std::size_t>(id)];
    const FlowCounters wanted = ranks_counters(static_cast<std::uint64_t>(base));
    EXPECT_EQ(std::tie(found.frames, found.bytes, found.wire_bytes, found.payload_bytes,
                       found.messages, found.unsigned_frames, found.begin, found.span, found.late,
                       found.shared, found.not_sent, found.faults),
              std::tie(wanted.frames, wanted.bytes, wanted.wire_bytes, wanted.payload_bytes,
                       wanted.messages, wanted.unsigned_frames, wanted.begin, wanted.span,
                       wanted.late, wanted.shared, wanted.not_sent, wanted.faults));
  }
  EXPECT_THAT(whole.sent.rank_of_flow, ElementsAre(1, 0, 1));
  EXPECT_EQ(whole.sent.elapsed, nanoseconds(8));
  EXPECT_EQ(whole.parts[1]->started_late, nanoseconds(77));
  EXPECT_EQ(whole.parts[1]->missed, 4u);
  EXPECT_EQ(whole.sent.audit.pacing_error.count(), 5u);
  EXPECT_EQ(whole.sent.audit.pacing_error.maximum(), 1'000'003);  // not its bucket's first value
  EXPECT_EQ(whole.sent.audit.icrc_checked, 6u);
  EXPECT_EQ(whole.sent.audit.late_frames, 8u);
  EXPECT_EQ(whole.sent.ports[0].port, "b: eth1");
  EXPECT_EQ(whole.sent.ports[0].refused.total(), 2u);
  EXPECT_FALSE(whole.receives);
}

std::string received_json(const Measurement& measurement, const FlowNames& names) {
  const ReceiveReport report;
  return report::json_line(kReceiveOutput, ReceiveSummary{report, measurement, names,
                                                          flow_rows(measurement, names, {})});
}

/// What another process received is reported as if it had been received here.
TEST(RunParts, AMeasurementComesBackAsItWas) {
  const std::string text =
      "[defaults]\nmessages = 300\nsignature = true\n[[flow]]\nname = \"a\"\n[[flow]]\nname = "
      "\"b\"\nsource = \"2001:db8::7\"\ndestination = \"2001:db8::8\"\n[[flow]]\nname = "
      "\"c\"\nsignature = false\n";
  auto frames = test::frames_of_profile(text, {.run = 9, .clock = wire::ClockId::kTai});
  std::swap(frames[40], frames[60]);
  frames.erase(frames.begin() + 100, frames.begin() + 120);
  frames.push_back(frames.back());  // a duplicate
  Measurement here({.clock = wire::ClockId::kTai});
  for (std::size_t i = 0; i < frames.size(); ++i)
    here.count_frame(frames[i].bytes, frames[i].sent + nanoseconds(1'234'567 + 11 * i));
  here.finalize();
  RunReport sent;
  sent.flows.resize(3);
  WholeRun whole(3, {"x"}, {.clock = wire::ClockId::kTai});
  ASSERT_TRUE(whole.add(0, part_text(sent, &here), {0, 1, 2}));
  EXPECT_TRUE(whole.receives);
  const FlowNames names = {"a", "b", "c"};
  EXPECT_EQ(received_json(whole.received, names), received_json(here, names));
  EXPECT_NE(received_json(here, names).find("\"lost\":7"), std::string::npos);
  EXPECT_EQ(histogram_csv(whole.received, names), histogram_csv(here, names));
  for (std::size_t i = 0; i < here.flows().size(); ++i)
    EXPECT_EQ(whole.received.flows()[i].tracker.next(), here.flows()[i].tracker.next());
}

/// Damaged frames, and those that differ from the profile, are known to the whole, too.
TEST(RunParts, DifferencesFromTheProfileComeBack) {
  const std::string text = "[[flow]]\nsignature = true\nmessages = 20\n";
  const auto profile = config::parse_flow_profile(text, "test");
  const AskedFrames asked(*profile);
  auto frames = test::frames_of_profile(text, {.run = 9});
  Measurement here({});
  here.compare_with(asked);
  test::change(frames[3], [](wire::Bth& bth) { bth.p_key.set(0x1234); });
  frames.back().bytes.back() ^= std::byte{1};
  for (const auto& frame : frames) here.count_frame(frame.bytes, frame.sent);
  here.finalize();
  ASSERT_NE(here.flows()[0].not_as_asked, nullptr);
  ASSERT_EQ(here.flows()[0].signature->damaged.size(), 1u);
  RunReport sent;
  sent.flows.resize(1);
  WholeRun whole(1, {"x"}, {});
  ASSERT_TRUE(whole.add(0, part_text(sent, &here), {0}));
  const ReceiveFlow& found = whole.received.flows()[0];
  ASSERT_NE(found.not_as_asked, nullptr);
  EXPECT_EQ(found.not_as_asked->frames, 1u);
  EXPECT_EQ(found.not_as_asked->pkey, 1u);
  EXPECT_EQ(found.signature->damaged, here.flows()[0].signature->damaged);
}

/// A delay below zero by no more than the clocks' error is no contradiction.
TEST(RunParts, DelaysAreJudgedByTheClocksBound) {
  const auto frames = test::frames_of_profile("[[flow]]\nsignature = true\nmessages = 20\n",
                                              {.run = 9, .clock = wire::ClockId::kTai});
  Measurement measurement({.clock = wire::ClockId::kTai});
  for (const auto& frame : frames)
    measurement.count_frame(frame.bytes, frame.sent - nanoseconds(40));
  measurement.finalize();
  EXPECT_NE(measurement.latency_doubt(measurement.flows()[0]), "");
  measurement.set_clock_bound(0, nanoseconds(39));
  EXPECT_NE(measurement.latency_doubt(measurement.flows()[0]), "");
  measurement.set_clock_bound(0, nanoseconds(40));
  EXPECT_EQ(measurement.latency_doubt(measurement.flows()[0]), "");
}

TEST(RunParts, TextThatIsNoPartIsAnError) {
  for (const char* text : {"", "{}", "[1]", "{\"flows\":[],\"ports\":[]}", "{\"flows\":3}"}) {
    WholeRun whole(1, {"a"}, {});
    const auto added = whole.add(0, text, {0});
    ASSERT_FALSE(added) << text;
    EXPECT_EQ(added.error().exit, ExitCode::failed);
  }
}

TEST(RunMessages, AreReadAsTheyWereWritten) {
  const Introduction sent{.self = {.machine = "node1", .ports = {"veth0"}, .receive = {}},
                          .identity = "1234",
                          .error = "no such port",
                          .exit = to_int(ExitCode::environment)};
  Introduction read;
  ASSERT_TRUE(report::read_json(report::json_of(sent), read));
  EXPECT_EQ(read.self.machine, "node1");
  EXPECT_EQ(read.self.ports, std::vector<std::string>{"veth0"});
  EXPECT_EQ(read.identity, "1234");
  EXPECT_EQ(read.error, "no such port");
  EXPECT_EQ(read.exit, 3);

  const RunStart start{
      .at = -5, .run = 65535, .corrects = true, .ahead = -7, .clock = 2, .name = "tai"};
  RunStart start_read;
  ASSERT_TRUE(report::read_json(report::json_of(start), start_read));
  EXPECT_EQ(report::json_of(start_read), report::json_of(start));
}

TEST(RunMessages, AWrongOneIsRefusedByItsKey) {
  const auto error_of = [](const char* text, auto message) {
    const auto read = report::read_json(report::Json::parse(text), message);
    return read ? std::string() : read.error();
  };
  EXPECT_THAT(error_of(R"({"reason": "x", "exit": 4})", RunEnd{}),
              HasSubstr("\"exit\": expected a whole number from 0 to 3, found 4"));
  EXPECT_THAT(error_of(R"({"frames": -1, "failure": ""})", RankSent{}),
              HasSubstr("\"frames\": expected a whole number"));
  EXPECT_THAT(error_of(R"({"clock_ns": "now"})", ClockReading{}), HasSubstr("\"clock_ns\""));
  EXPECT_THAT(error_of(R"({"ranks": [{"machine": "a"}]})", RunPlan{}), testing::Not(""));
  EXPECT_NE(error_of("null", RankResults{}), "");
}

}  // namespace
}  // namespace lw::gen
