// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/impair/profile.h"
#include "config/impair/static_profile.h"
#include "support/temporary.h"

namespace lw::config {
namespace impair_stages_test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

std::string shipped(const std::string& name) {
  return std::string(std::getenv("LONGWIRE_SOURCE")) + "/profiles/impair/" + name;
}

emulator::RuleConfig rule(const std::string& keys) {
  const auto profile = parse_impair_profile("[[rule]]\n" + keys, "x.toml");
  EXPECT_TRUE(profile) << profile.error().message;
  return profile ? profile->rules[0] : emulator::RuleConfig{};
}

std::string refusal(const std::string& keys) {
  const auto profile = parse_impair_profile("[[rule]]\n" + keys, "x.toml");
  return profile ? "" : profile.error().message;
}

TEST(ImpairStages, TheShippedProfileUsesEveryOne) {
  const auto profile = load_impair_profile(shipped("every-stage.toml"));
  ASSERT_TRUE(profile) << profile.error().message;
  ASSERT_EQ(profile->rules.size(), 3U);
  const auto& there = profile->rules[0];
  EXPECT_TRUE(there.police && there.corrupt && there.duplicate && there.mark && there.shared &&
              there.delay && there.jitter && there.reorder && emulator::loses(there.loss));
  EXPECT_TRUE(there.keep_order);
  const auto& back = profile->rules[1];
  ASSERT_TRUE(back.trace && back.jitter);
  EXPECT_FALSE(back.keep_order);
  EXPECT_EQ(back.trace->rows.size(), 5U);
  EXPECT_EQ(back.trace->period, milliseconds(100));
  // The longest: 6 ms, 210 us, and 4 MB at the trace's 4 Gb/s.
  EXPECT_GT(profile->longest_delay(), microseconds(6'000 + 200 + 8'000));
}

TEST(ImpairStages, Police) {
  const auto police =
      rule("police = { rate = \"10Gb/s\", burst = \"64KiB\", overhead = \"4B\" }").police;
  ASSERT_TRUE(police);
  EXPECT_DOUBLE_EQ(police->rate_bps, 10e9);
  EXPECT_EQ(police->burst_bytes, 65536U);
  EXPECT_EQ(police->overhead, 4U);
  EXPECT_THAT(refusal("police = { rate = \"10Gb/s\" }"), HasSubstr("burst"));
  EXPECT_THAT(refusal("police = { rate = \"10Gb/s\", burst = \"83B\" }"),
              HasSubstr("x.toml:2:37: burst: expected at least the 84 B"));
  EXPECT_THAT(refusal("police = { rate = \"5b/s\", burst = \"1MB\" }"), HasSubstr("x.toml:2:19"));
}

TEST(ImpairStages, LossModels) {
  const auto ge = std::get<emulator::GilbertElliott>(
      rule("loss = { model = \"gilbert-elliott\", p = \"1%\", r = \"30%\", good_loss = 1e-9 }")
          .loss);
  EXPECT_DOUBLE_EQ(ge.p, 0.01);
  EXPECT_DOUBLE_EQ(ge.r, 0.3);
  EXPECT_DOUBLE_EQ(ge.bad_loss, 1);
  EXPECT_DOUBLE_EQ(ge.good_loss, 1e-9);
  const auto four =
      std::get<emulator::FourState>(rule("loss = { model = \"four-state\", p13 = 1e-1 }").loss);
  EXPECT_DOUBLE_EQ(four.p31, 0.9);  // tc-netem(8): 1 - p13 by default
  EXPECT_DOUBLE_EQ(four.p23, 1);
  const auto bursts = std::get<emulator::Bursts>(
      rule("loss = { model = \"bursts\", begin = 1e-4, length = [3, 8] }").loss);
  EXPECT_EQ(bursts.shortest, 3U);
  EXPECT_EQ(bursts.longest, 8U);
  EXPECT_EQ(std::get<emulator::EveryNth>(rule("loss = { model = \"every\", nth = 9 }").loss).n, 9U);
  EXPECT_THAT(
      std::get<emulator::BitPattern>(rule("loss = { model = \"pattern\", bits = \"010\" }").loss)
          .lost,
      ElementsAre(false, true, false));
  EXPECT_DOUBLE_EQ(
      std::get<emulator::BitErrors>(rule("loss = { model = \"bit-errors\", rate = 1e-12 }").loss)
          .rate,
      1e-12);
  EXPECT_THAT(std::get<emulator::ListedFrames>(
                  rule("loss = { model = \"listed\", frames = [7, 3, 7] }").loss)
                  .frames,
              ElementsAre(3, 7));
}

TEST(ImpairStages, LossRefusals) {
  EXPECT_THAT(refusal("loss = { model = \"gilbert\" }"), HasSubstr("gilbert-elliott"));
  EXPECT_THAT(refusal("loss = { p = \"100%\" }"), HasSubstr("model"));
  EXPECT_THAT(refusal("loss = { model = \"gilbert-elliott\" }"), HasSubstr("p: expected"));
  EXPECT_THAT(refusal("loss = { model = \"every\", nth = 0 }"), HasSubstr("x.toml:2:33"));
  EXPECT_THAT(refusal("loss = { model = \"every\", nth = 2, p = \"100%\" }"),
              HasSubstr("unknown key \"p\""));
  EXPECT_THAT(refusal("loss = { model = \"pattern\", bits = \"01x\" }"), HasSubstr("'x'"));
  EXPECT_THAT(refusal("loss = { model = \"four-state\", p13 = 6e-1, p14 = 6e-1 }"),
              HasSubstr("p13 + p14"));
  EXPECT_THAT(refusal("loss = { model = \"four-state\", p13 = 1e-1, p32 = 1e-1, p23 = 0 }"),
              HasSubstr("ends in state 2"));
  EXPECT_THAT(refusal("loss = { model = \"bursts\", begin = \"10%\", length = [8, 3] }"),
              HasSubstr("shortest"));
  EXPECT_THAT(refusal("loss = { model = \"listed\" }"), HasSubstr("frames"));
  EXPECT_THAT(refusal("loss = { model = \"listed\", file = \"no such\" }"), HasSubstr("no such"));
}

TEST(ImpairStages, CorruptDuplicateAndMark) {
  EXPECT_DOUBLE_EQ(rule("corrupt = \"1%\"").corrupt->probability, 0.01);
  const auto corrupt =
      rule(
          "corrupt = { probability = \"100%\", bits = 3, part = \"frame\", offset = 40, "
          "icrc = \"recomputed\" }")
          .corrupt;
  EXPECT_EQ(corrupt->bits, 3U);
  EXPECT_EQ(corrupt->part, emulator::CorruptConfig::Part::frame);
  EXPECT_EQ(corrupt->offset, 40U);
  EXPECT_TRUE(corrupt->recompute_icrc);
  EXPECT_THAT(refusal("corrupt = { probability = \"100%\", bits = 65 }"), HasSubstr("x.toml:2:"));
  EXPECT_EQ(rule("duplicate = { probability = \"50%\", copies = 4 }").duplicate->copies, 4);
  EXPECT_EQ(rule("duplicate = \"50%\"").duplicate->copies, 1);
  const auto mark = rule(
                        "queue = { rate = \"1Gb/s\", buffer = \"1MB\" }\nmark = { kmin = \"10kB\", "
                        "kmax = \"20kB\", pmax = \"20%\", not_ect = \"drop\", force = true }")
                        .mark;
  ASSERT_TRUE(mark && mark->red);
  EXPECT_EQ(mark->red->kmin_bytes, 10'000U);
  EXPECT_EQ(mark->red->kmax_bytes, 20'000U);
  EXPECT_DOUBLE_EQ(mark->red->share, 0.2);
  EXPECT_EQ(mark->not_ect, emulator::NotEct::drop);
  EXPECT_TRUE(mark->force);
  EXPECT_THAT(refusal("mark = { kmin = \"1kB\", kmax = \"2kB\" }"), HasSubstr("queue"));
  EXPECT_THAT(refusal("mark = { force = true }"), HasSubstr("probability"));
  EXPECT_THAT(refusal("mark = { probability = \"100%\", not_ect = \"drop\" }"),
              HasSubstr("not_ect: expected kmin and kmax"));
}

TEST(ImpairStages, QueueDelayAndReorder) {
  EXPECT_THAT(refusal("queue = { rate = \"1Gb/s\" }"), HasSubstr("buffer"));
  EXPECT_THAT(refusal("queue = { rate = \"1Gb/s\", buffer = \"1MB\", bufer = 1 }"),
              HasSubstr("did you mean \"buffer\""));
  EXPECT_THAT(refusal("jitter = { distribution = \"norml\" }"), HasSubstr("normal"));
  EXPECT_THAT(refusal("jitter = { distribution = \"normal\" }"), HasSubstr("deviation"));
  EXPECT_THAT(refusal("jitter = { distribution = \"uniform\", low = \"2us\", high = \"1us\" }"),
              HasSubstr("at most high"));
  const auto jitter = rule(
                          "jitter = { distribution = \"normal\", deviation = \"5us\", "
                          "half_life = \"2ms\" }")
                          .jitter;
  ASSERT_TRUE(jitter);
  EXPECT_DOUBLE_EQ(std::get<emulator::NormalDelay>(jitter->distribution).deviation, 5000);
  EXPECT_EQ(jitter->half_life, milliseconds(2));
  EXPECT_EQ(rule("reorder = { fraction = \"10%\", swap = true }").reorder->frames, 1U);
  EXPECT_EQ(rule("reorder = { fraction = \"10%\", time = \"9us\" }").reorder->by, microseconds(9));
  EXPECT_EQ(rule("reorder = { fraction = \"10%\", ahead = true }").reorder->gap, 1U);
  EXPECT_EQ(rule("reorder = { fraction = \"10%\", ahead = true, gap = 5 }").reorder->gap, 5U);
  EXPECT_THAT(refusal("reorder = { fraction = \"10%\", swap = true, gap = 5 }"),
              HasSubstr("ahead"));
  EXPECT_THAT(refusal("reorder = { fraction = \"10%\", ahead = true, at_most = \"1s\" }"),
              HasSubstr("beside frames or swap"));
  EXPECT_THAT(refusal("reorder = { fraction = \"10%\" }"), HasSubstr("one of"));
  EXPECT_THAT(refusal("reorder = { fraction = \"10%\", frames = 2, swap = true }"),
              HasSubstr("one of"));
  EXPECT_THAT(refusal("reorder = { fraction = \"10%\", swap = false }"), HasSubstr("one of"));
  EXPECT_EQ(rule("reorder = { fraction = \"10%\", frames = 2, swap = false }").reorder->frames, 2U);
  EXPECT_THAT(refusal("reorder = { fraction = \"10%\", time = \"9us\", at_most = \"1s\" }"),
              HasSubstr("at_most"));
}

TEST(DelayFiles, AHistogramIsReadAsItStands) {
  const auto read =
      emulator::parse_delay_histogram("low,high,weight\n# far\n0ns,10ns,1\n1us, 1us ,3\n");
  ASSERT_TRUE(read) << read.error();
  ASSERT_EQ(read->bins.size(), 2U);
  EXPECT_DOUBLE_EQ(read->bins[1].low, 1000);
  EXPECT_DOUBLE_EQ(read->bins[1].weight, 3);
  EXPECT_THAT(emulator::parse_delay_histogram("0us,2us,1\n1us,3us,1").error(), HasSubstr("line 2"));
  EXPECT_THAT(emulator::parse_delay_histogram("0us,2us,0").error(), HasSubstr("weight"));
  EXPECT_THAT(emulator::parse_delay_histogram("# nothing\n").error(), HasSubstr("none"));
  EXPECT_THAT(emulator::parse_delay_histogram("-1us,2us,1\n2us,3us,1").error(), HasSubstr("line 1"))
      << "no heading";
}

TEST(DelayFiles, ValuesAreEquallyLikely) {
  const auto read = emulator::parse_delay_values("delay\n# a run\n3us\n1us\n1us\n");
  ASSERT_TRUE(read) << read.error();
  EXPECT_DOUBLE_EQ(emulator::mean_of(*read), 5000.0 / 3);
  EXPECT_DOUBLE_EQ(emulator::cumulative(*read, 1000), 2.0 / 3);
  EXPECT_THAT(emulator::parse_delay_values("1us\n2us,3us").error(), HasSubstr("line 2"));
  EXPECT_THAT(emulator::parse_delay_values("1us\nsoon").error(), HasSubstr("line 2"));
  EXPECT_THAT(emulator::parse_delay_values("").error(), HasSubstr("found none"));
}

TEST(DelayFiles, ASpreadsheetsByteOrderMarkIsNoPartOfTheFirstLine) {
  const auto file = std::filesystem::path(lw::test::temporary_folder()) / "marked.csv";
  std::ofstream(file) << "\xef\xbb\xbf"
                      << "1us,2us,1\n";
  EXPECT_EQ(read_whole_file(file.parent_path(), {"marked.csv"}), "1us,2us,1\n");
}

TEST(ImpairStages, ARuleIsNotCalledAsReportsCallWhatNoneMatches) {
  EXPECT_THAT(refusal("name = \"untouched\""), HasSubstr("x.toml:2:8: name: expected another"));
}

TEST(ImpairStages, AScheduleHasTimesOrFrames) {
  const auto when = [](const std::string& keys) {
    return rule("loss = \"50%\"\nwhen.loss = { " + keys + " }").when.stage<emulator::Loss>();
  };
  const auto is = [](auto one, emulator::When other) { return one && *one == other; };
  EXPECT_TRUE(is(when("for = \"10ms\""), {.length = 10'000'000}));
  EXPECT_TRUE(is(when("every = \"1s\", for = \"10ms\", from = \"2s\""),
                 {.begin = 2'000'000'000, .length = 10'000'000, .period = 1'000'000'000}));
  EXPECT_TRUE(is(when("every = 1000, for = 10, from = 500"),
                 {.by_frames = true, .begin = 500, .length = 10, .period = 1000}));
  const auto wrong = [](const std::string& keys) {
    return refusal("loss = \"50%\"\nwhen.loss = { " + keys + " }");
  };
  EXPECT_THAT(wrong("every = \"1s\""), HasSubstr("for = \"10ms\""));
  EXPECT_THAT(wrong("every = \"1s\", for = 10"), HasSubstr("all as numbers of frames"));
  EXPECT_THAT(wrong("for = 0"), HasSubstr("more than 0"));
  EXPECT_THAT(wrong("every = 10, for = 10"), HasSubstr("more than `for`"));
  EXPECT_THAT(wrong("for = -1"), HasSubstr("found -1"));
  EXPECT_THAT(wrong("for = \"soon\""), HasSubstr("expected a time such as"));
  EXPECT_THAT(refusal("when.loss = { for = 1 }"), HasSubstr("expected loss in the rule too"));
  EXPECT_THAT(refusal("queue = { rate = \"1Gb/s\", buffer = \"1MB\" }\nwhen.queue = { for = 1 }"),
              HasSubstr("overtake those that wait in it"));
  EXPECT_THAT(refusal("when.dealy = { for = 1 }"), HasSubstr("dealy"));
}

TEST(ImpairStages, OrderMayBeFreeWhereADelayMayChange) {
  EXPECT_FALSE(rule("delay = \"1ms\"\norder = \"free\"").keep_order);
  EXPECT_THAT(refusal("order = \"free\""), HasSubstr("x.toml:2:9: order: expected a delay"));
}

/// netem's own tables are in 8192ths of a standard deviation.
TEST(DelayFiles, ANetemDistributionIsReadAsTcReadsIt) {
  const auto read = emulator::parse_netem_distribution("# x\n -8192 0\n8192 16384\n", 1000, 100);
  ASSERT_TRUE(read) << read.error();
  std::vector<double> delays;
  for (const auto& bin : read->bins) delays.push_back(bin.low);
  EXPECT_THAT(delays, ElementsAre(900, 1000, 1100, 1200));
  EXPECT_THAT(emulator::parse_netem_distribution("1 2\n3 x", 0, 1).error(), HasSubstr("line 2"));
}

TEST(DelayFiles, ATraceHasTheColumnsItsHeadingNames) {
  const auto trace = emulator::parse_trace("time,rate,delay\n0s,1Gb/s,1ms\n2s,,3ms\n");
  ASSERT_TRUE(trace) << trace.error();
  ASSERT_EQ(trace->rows.size(), 2U);
  EXPECT_EQ(trace->rows[0].rate_bps, 1e9);
  EXPECT_FALSE(trace->rows[1].rate_bps);
  EXPECT_EQ(trace->rows[1].delay, milliseconds(3));
  EXPECT_FALSE(trace->rows[1].loss);
  EXPECT_THAT(emulator::parse_trace("time,delay\n1s,1ms").error(), HasSubstr("first of them 0"));
  EXPECT_THAT(emulator::parse_trace("time,loss,loss\n0s,1,1").error(), HasSubstr("loss again"));
  EXPECT_THAT(emulator::parse_trace("time\n0s").error(), HasSubstr("beside time"));
  EXPECT_THAT(emulator::parse_trace("time,delay\n0s,1ms,2").error(),
              HasSubstr("expected 2 fields"));
  EXPECT_THAT(emulator::parse_trace("time,dealy\n0s,1ms").error(), HasSubstr("dealy"));
}

}  // namespace impair_stages_test
}  // namespace lw::config
