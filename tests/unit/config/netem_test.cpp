// SPDX-License-Identifier: BSD-3-Clause
#include "config/impair/netem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/impair/profile.h"
#include "config/impair/static_profile.h"

namespace lw::config {
namespace netem_test {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

NetemProfile translated(std::string_view text) {
  const auto profile = profile_of_netem(text);
  EXPECT_TRUE(profile) << text << ": " << profile.error().message;
  return profile.value_or(NetemProfile{});
}

std::string refusal(std::string_view text) {
  const auto profile = profile_of_netem(text);
  EXPECT_FALSE(profile) << text;
  return profile ? "" : profile.error().message;
}

/// The last rule of a translated profile, as a run reads it.
emulator::RuleConfig rule_of(std::string_view text) {
  const NetemProfile netem = translated(text);
  const auto profile = parse_impair_profile(netem.toml, "netem.toml");
  EXPECT_TRUE(profile) << netem.toml << profile.error().message;
  return profile && !profile->rules.empty() ? profile->rules.back() : emulator::RuleConfig{};
}

TEST(Netem, DelayAndLoss) {
  const auto rule = rule_of("delay 100ms loss 1%");
  EXPECT_EQ(rule.delay, milliseconds{100});
  EXPECT_EQ(std::get<double>(rule.loss), 0.01);
  EXPECT_FALSE(rule.jitter);
  EXPECT_THAT(translated("loss 1%").differences, IsEmpty());
}

TEST(Netem, WhatStandsBeforeNetemIsSkipped) {
  const auto rule = rule_of("tc qdisc add dev eth1 root handle 1: netem delay 3");
  EXPECT_EQ(rule.delay, microseconds{3});  // a bare number is in us
}

TEST(Netem, TimesHaveTcsUnits) {
  for (const char* const text : {"delay 2000", "delay 2000us", "delay 2000usecs", "delay 2ms",
                                 "delay 2msec", "latency 0.002s", "delay 2000000ns"})
    EXPECT_EQ(rule_of(text).delay, milliseconds{2}) << text;
}

TEST(Netem, ASlotHasTcsUnitsAndLimits) {
  const auto slot = rule_of("delay 10ms slot 800us 1ms packets 10 bytes 64k").slot;
  EXPECT_EQ(
      slot,
      (emulator::SlotConfig{
          .least = microseconds{800}, .most = milliseconds{1}, .frames = 10, .bytes = 65536}));
  EXPECT_EQ(rule_of("slot 800000").slot->most, microseconds{800});  // a bare number is in ns
  EXPECT_EQ(rule_of("slot 1ms 100us").slot->most, milliseconds{1});
  EXPECT_EQ(rule_of("slot 0 2ms").slot->least, microseconds{0});
  EXPECT_FALSE(rule_of("loss 1% slot 0 0").slot);
}

TEST(Netem, RatesHaveTcsUnits) {
  for (const char* const text : {"rate 8000000", "rate 8mbit", "rate 1mbps", "rate 1000kbps"})
    EXPECT_EQ(rule_of(text).queue->rate_bps, 8e6) << text;
  EXPECT_EQ(rule_of("rate 1mibit").queue->rate_bps, 1048576);
  EXPECT_EQ(rule_of("rate 1gbit 24 limit 10").queue->overhead, 24);
  EXPECT_EQ(rule_of("rate 1gbit limit 10").queue->buffer_bytes, 15140u);
}

TEST(Netem, JitterIsUniformUnlessADistributionIsNamed) {
  EXPECT_THAT(translated("delay 100ms 10ms").toml,
              HasSubstr("delay = \"90ms\"\njitter = { distribution = \"uniform\", low = "
                        "\"0ms\", high = \"20ms\" }\norder = \"free\""));
  EXPECT_THAT(translated("delay 100ms 10ms distribution normal").toml,
              HasSubstr("delay = \"100ms\"\njitter = { distribution = \"normal\", mean = "
                        "\"0ms\", deviation = \"10ms\" }"));
  EXPECT_THAT(translated("delay 100ms 10ms distribution pareto").toml,
              HasSubstr("file = \"/usr/lib/tc/pareto.dist\", mean = \"0ms\", deviation = "
                        "\"10ms\""));
  EXPECT_TRUE(rule_of("delay 100ms 10ms").jitter);
}

TEST(Netem, ADelayBelowZeroIsNone) {
  const auto rule = rule_of("delay 1ms 3ms");
  EXPECT_EQ(rule.delay, microseconds{0});
  EXPECT_EQ(std::get<emulator::UniformDelay>(rule.jitter->distribution).low, -2e6);
  EXPECT_EQ(std::get<emulator::UniformDelay>(rule.jitter->distribution).high, 4e6);
}

TEST(Netem, LossModels) {
  EXPECT_EQ(std::get<emulator::GilbertElliott>(rule_of("loss gemodel 1% 30% 90% 0.1%").loss),
            (emulator::GilbertElliott{.p = 0.01, .r = 0.3, .bad_loss = 0.9, .good_loss = 0.001}));
  EXPECT_EQ(std::get<emulator::FourState>(rule_of("loss state 1% 30% 5% 40% 0.1%").loss),
            (emulator::FourState{.p13 = 0.01, .p31 = 0.3, .p32 = 0.05, .p23 = 0.4, .p14 = 0.001}));
  EXPECT_EQ(std::get<double>(rule_of("loss random 2.5").loss), 0.025);
  EXPECT_THAT(translated("loss 1% ecn").toml, HasSubstr("mark = \"1%\""));
}

TEST(Netem, CorruptDuplicateAndSeed) {
  const auto rule = rule_of("corrupt 0.1% duplicate 2%");
  EXPECT_TRUE(rule.corrupt);
  EXPECT_TRUE(rule.duplicate);
  EXPECT_THAT(translated("delay 1ms seed 7").toml, HasSubstr("seed = 7\n"));
  EXPECT_THAT(translated("delay 1ms seed 9007199254740993").toml,
              HasSubstr("seed = 9007199254740993\n"));
}

TEST(Netem, WhatDiffersIsNamed) {
  const auto both = translated("loss 15.3% 25% duplicate 1%");
  EXPECT_THAT(both.differences,
              ElementsAre(HasSubstr("correlations of loss and duplicate are left out")));
  // As the kernel measured: 4.8 to 6 % of the packets.
  EXPECT_THAT(both.differences[0], HasSubstr("of the shares that netem's come to: 5."));
  EXPECT_THAT(translated("delay 10ms 1ms").differences,
              ElementsAre(HasSubstr("1000 packets at most")));
  EXPECT_THAT(translated("corrupt 1% duplicate 1%").differences,
              ElementsAre(HasSubstr("corrupts a copy on its own")));
  EXPECT_THAT(translated("loss gemodel 1% 30% duplicate 1%").differences,
              ElementsAre(HasSubstr("here it is lost")));
}

/// sch_netem.c adds the jitter to the time of the packet before it.
TEST(Netem, WithARateTheOrderIsKept) {
  const auto rule = rule_of("delay 1.9ms 20us rate 100gbit");
  EXPECT_TRUE(rule.keep_order);
  EXPECT_TRUE(rule.jitter && rule.queue);
  EXPECT_FALSE(rule_of("delay 1.9ms 20us").keep_order);
}

/// A packet that is lost and duplicated goes once, and a copy may be lost on its own: with loss p
/// and duplicate d, none goes with (1-d)p, two with d(1-p)^2.
TEST(Netem, ADuplicateRestoresALostPacket) {
  const auto all = rule_of("loss 50% duplicate 100%");
  EXPECT_EQ(std::get<double>(all.loss), 0);
  EXPECT_DOUBLE_EQ(all.duplicate->probability, 0.25);
  const auto some = rule_of("loss 10% duplicate 20%");
  EXPECT_DOUBLE_EQ(std::get<double>(some.loss), 0.08);
  EXPECT_NEAR(some.duplicate->probability, 0.2 * 0.81 / 0.92, 1e-12);
  EXPECT_FALSE(rule_of("loss 100% duplicate 10%").duplicate);
}

/// netem holds as many packets as its limit says, those that are delayed too.
TEST(Netem, TheCapacityIsThatOfTheLimit) {
  const auto capacity_of = [](std::string_view text) {
    return parse_impair_profile(translated(text).toml, "netem.toml")->capacity.rate_bps;
  };
  EXPECT_NEAR(capacity_of("delay 100ms 10ms loss 1%"), 1000 * 1514 * 8 / 0.11, 1);
  EXPECT_NEAR(capacity_of("delay 100ms limit 10"), 1e6 * 1.2112, 1);
  EXPECT_EQ(capacity_of("rate 1mbit"), 1e6);
  EXPECT_EQ(capacity_of("delay 10ms rate 5gbit"), 5e9);
  EXPECT_EQ(capacity_of("loss 1%"), 100e9);  // nothing waits
  EXPECT_THAT(translated("delay 100ms limit 10").differences,
              ElementsAre(testing::AllOf(HasSubstr("10 packets at most, those"),
                                         HasSubstr("above 1.21 Mb/s"), HasSubstr("holds 812744"))));
}

TEST(Netem, ReadsWhatTcShows) {
  const auto rule = rule_of(
      "qdisc netem 8001: dev eth0 root refcnt 2 limit 1000 delay 100ms  10ms loss state p13 1% p31 "
      "30% p32 5% p23 40% p14 0.1% rate 1Gbit packetoverhead 24 cellsize 0 celloverhead 0 seed 5");
  EXPECT_EQ(rule.delay, milliseconds{90});
  EXPECT_EQ(std::get<emulator::FourState>(rule.loss),
            (emulator::FourState{.p13 = 0.01, .p31 = 0.3, .p32 = 0.05, .p23 = 0.4, .p14 = 0.001}));
  EXPECT_EQ(rule.queue->overhead, 24U);
  const auto gilbert = rule_of(
      "qdisc netem 10: parent 1:1 limit 50 loss gemodel p 1% r 30% 1-h 90% "
      "1-k 0.1%");
  EXPECT_EQ(std::get<emulator::GilbertElliott>(gilbert.loss),
            (emulator::GilbertElliott{.p = 0.01, .r = 0.3, .bad_loss = 0.9, .good_loss = 0.001}));
}

TEST(Netem, ReadsAnyListingOfTc) {
  EXPECT_EQ(rule_of("qdisc netem 8003: root offloaded refcnt 2 limit 1000 delay 150.0ms").delay,
            milliseconds{150});
  EXPECT_EQ(rule_of("qdisc netem 8003: dev veth0 root refcnt 2 limit 1000 delay 3ms\n"
                    " Sent 2710 bytes 31 pkt (dropped 0, overlimits 0 requeues 0) \n"
                    " backlog 0b 0p requeues 0\n")
                .delay,
            milliseconds{3});
  EXPECT_THAT(refusal("qdisc netem 1: root delay 3ms\n Sent 0 bytes 0 pkt\nqdisc fq 2: root"),
              HasSubstr("found several"));
}

TEST(Netem, ASeedHas64Bits) {
  const std::string text = "qdisc netem 8002: root refcnt 13 limit 1000 delay 10ms seed ";
  EXPECT_THAT(translated(text + "9223372036854775807").toml,
              HasSubstr("seed = 9223372036854775807\n"));
  EXPECT_THAT(translated(text + "9223372036854775808").toml, HasSubstr("\nseed = 0\n"));
  EXPECT_THAT(translated(text + "18446744073709551615").toml,
              HasSubstr("2^63 on: the seed is tc's less 2^63"));
  EXPECT_THAT(refusal(text + "18446744073709551616"), HasSubstr("below 2^64"));
  EXPECT_THAT(refusal(text + "-1"), HasSubstr("below 2^64"));
}

// matches() of iproute2 takes the beginning of a word, of the first parameter that has it.
TEST(Netem, ParametersMayBeCutAsTcTakesThem) {
  EXPECT_EQ(rule_of("lat 100ms 5ms dist normal").delay, milliseconds{100});
  EXPECT_EQ(rule_of("l 7 d 1ms").limit, 7U);
  EXPECT_EQ(std::get<double>(rule_of("dro 2%").loss), 0.02);
  EXPECT_EQ(rule_of("del 10ms r 25% g 5").reorder->gap, 5U);
  EXPECT_EQ(rule_of("ra 1mbit").queue->rate_bps, 1e6);
  EXPECT_TRUE(rule_of("c 1%").corrupt);
  EXPECT_TRUE(rule_of("du 1%").duplicate);
  EXPECT_THAT(refusal("slo 1ms"), HasSubstr("did you mean \"slot\"?"));
  EXPECT_TRUE(rule_of("tbf rate 1mbit b 4k lat 1s").queue);
  EXPECT_THAT(refusal("tbf rat 1mbit burst 4k latency 1s"), HasSubstr("unknown parameter of tbf"));
}

TEST(Netem, ADistributionMayBeTheUsersFile) {
  EXPECT_THAT(translated("delay 10ms 1ms distribution my-link.2").toml,
              HasSubstr("file = \"/usr/lib/tc/my-link.2.dist\""));
  for (const char* const bad : {"../x", ".x", "a/b", "a\"b", "a\x1b"})
    EXPECT_THAT(refusal(std::string("delay 10ms 1ms distribution ") + bad),
                HasSubstr("expected uniform, normal or the NAME"))
        << bad;
}

TEST(Netem, ACorrelatedLossLosesLessAndIsSaidTo) {
  EXPECT_THAT(translated("loss 0.3% 25%").differences,
              ElementsAre(HasSubstr("it loses less than 0.0001%")));
}

TEST(Netem, ATokenBucketDropsWhatIsLongerThanItsBurst) {
  const auto netem = translated("tbf rate 1mbit burst 10kbit latency 100ms");
  EXPECT_THAT(netem.differences, Contains(HasSubstr("longer than its burst of 1280 B")));
  EXPECT_THAT(netem.toml, HasSubstr("match = { filter = \"greater 1281\" }"));
  EXPECT_TRUE(parse_impair_profile(netem.toml, "netem.toml"));
  EXPECT_THAT(translated("tbf rate 1mbit burst 32kb latency 100ms").toml,
              Not(HasSubstr("[[rule]]\nname = \"longer")));
}

TEST(Netem, ReorderedPacketsGoAheadOfTheDelay) {
  const auto plain = rule_of("delay 10ms reorder 25% 50%");
  EXPECT_EQ(plain.reorder->fraction, 0.25);
  EXPECT_EQ(plain.reorder->gap, 1U);
  EXPECT_EQ(rule_of("delay 10ms reorder 25% gap 5").reorder->gap, 5U);
  EXPECT_EQ(rule_of("gap 5 delay 10ms reorder 100%").reorder->gap, 5U);
  EXPECT_EQ(rule_of("delay 10ms reorder 25% gap 0").reorder->gap, 1U);
  EXPECT_FALSE(rule_of("delay 10ms reorder 0%").reorder);
  // As tc qdisc show prints it.
  EXPECT_EQ(rule_of("qdisc netem 8001: root refcnt 2 limit 1000 delay 10ms reorder 25% 50% gap 5")
                .reorder->gap,
            5U);
}

TEST(Netem, ATokenBucketIsAQueue) {
  const auto rule = rule_of("tc qdisc add dev eth0 root tbf rate 1mbit burst 32kbit latency 400ms");
  EXPECT_EQ(rule.queue->rate_bps, 1e6);
  EXPECT_EQ(rule.queue->buffer_bytes, 50'000U + 4096);  // rate x latency + burst
  EXPECT_EQ(rule_of("tbf rate 10gbit buffer 1mb/8 limit 3000000").queue->buffer_bytes, 3'000'000U);
  EXPECT_EQ(
      rule_of("qdisc tbf 8002: root refcnt 2 rate 1Mbit burst 4Kb lat 400ms").queue->buffer_bytes,
      50'000U + 4096);
  EXPECT_THAT(refusal("tbf rate 1mbit latency 400ms"), HasSubstr("expected a rate, a burst"));
  EXPECT_THAT(refusal("tbf rate 1mbit burst 1k limit 9 peakrate 2mbit"), HasSubstr("one rate"));
  EXPECT_THAT(refusal("tbf rate 1tbit burst 1k latency 1s"), HasSubstr("4 GiB"));
}

TEST(Netem, ALimitCountsAllThatWait) {
  EXPECT_EQ(rule_of("delay 10ms").limit, 1000U);
  EXPECT_EQ(rule_of("rate 1gbit limit 20").limit, 20U);
  EXPECT_EQ(rule_of("slot 1ms limit 20").limit, 20U);
  EXPECT_FALSE(rule_of("loss 1% limit 20").limit);  // nothing waits
}

TEST(Netem, ALinkMayHaveCells) {
  const auto queue = *rule_of("rate 1mbit 8 48 5").queue;
  EXPECT_EQ(queue.cost(), (emulator::LineCost{.overhead = 8, .cell = 48, .cell_overhead = 5}));
  EXPECT_EQ(rule_of("qdisc netem 1: root rate 1Mbit packetoverhead 8 cellsize 48 celloverhead 5")
                .queue->cost(),
            queue.cost());
}

/// tc (6.1) sends the correlations only if one of them is not duplicate's.
TEST(Netem, CorrelationsAreThoseThatTcPasses) {
  EXPECT_EQ(std::get<emulator::CorrelatedLosses>(rule_of("loss 5% 25%").loss),
            (emulator::CorrelatedLosses{.probability = 0.05, .correlation = 0.25}));
  EXPECT_EQ(rule_of("corrupt 5% 25%").corrupt->correlation, 0.25);
  EXPECT_EQ(rule_of("delay 1ms reorder 5% 25%").reorder->correlation, 0.25);
  EXPECT_EQ(rule_of("duplicate 5% 25%").duplicate->correlation, 0);
  EXPECT_THAT(translated("duplicate 5% 25%").differences, ElementsAre(HasSubstr("beside another")));
  EXPECT_EQ(rule_of("delay 1ms 1us 0% duplicate 5% 25%").duplicate->correlation, 0.25);
}

TEST(Netem, SlotsMayHaveADistribution) {
  EXPECT_EQ(rule_of("slot distribution normal 1ms 100us packets 3").slot->between,
            emulator::Distribution(emulator::NormalDelay{1e6, 1e5}));
}

TEST(Netem, AnInterfaceMayHaveTheNameOfAQdisc) {
  EXPECT_EQ(rule_of("tc qdisc add dev netem root netem delay 3").delay, microseconds{3});
  EXPECT_EQ(rule_of("tc qdisc add dev tbf root netem delay 3").delay, microseconds{3});
  EXPECT_EQ(rule_of("qdisc netem 8001: dev fq root refcnt 2 limit 10 delay 3us").delay,
            microseconds{3});
  EXPECT_TRUE(rule_of("tc qdisc add dev netem root tbf rate 1mbit burst 4k latency 1s").queue);
  EXPECT_THAT(refusal("tc qdisc add dev netem root fq"), HasSubstr("fq: expected netem or tbf"));
  EXPECT_THAT(translated("tc qdisc add dev netem root netem delay 3").toml,
              HasSubstr("# netem delay 3\n"));
}

TEST(Netem, OtherQdiscsAreRefusedWithTheReason) {
  EXPECT_THAT(refusal("tc qdisc add dev eth0 root fq_codel limit 1000"),
              HasSubstr("fq_codel: expected netem or tbf"));
  EXPECT_THAT(refusal("tc qdisc add dev eth0 root handle 1: htb default 10"),
              HasSubstr("htb: expected"));
  EXPECT_THAT(refusal("tc qdisc add dev eth0 root netem delay 1ms\n"
                      "tc qdisc add dev eth0 parent 1: tbf rate 1mbit burst 1k latency 1s"),
              HasSubstr("expected one qdisc, found several"));
}

TEST(Netem, ErrorsNameTheWord) {
  EXPECT_THAT(refusal(""), HasSubstr("expected parameters of netem"));
  EXPECT_THAT(refusal("dealy 10ms"), HasSubstr("did you mean \"delay\"?"));
  EXPECT_EQ(refusal("delay"), "delay: expected a time such as 100ms, found the end");
  EXPECT_EQ(refusal("delay 10parsec"), "delay: expected a time such as 100ms, found \"10parsec\"");
  EXPECT_EQ(refusal("loss 101%"), "loss: expected a share such as 1%, found \"101%\"");
  EXPECT_THAT(refusal("delay 1e30s"), HasSubstr("found \"1e30s\""));
  EXPECT_THAT(refusal("rate 1e9tbit"), HasSubstr("found \"1e9tbit\""));
  EXPECT_THAT(refusal("rate 1gbit 9000000000000000000"), HasSubstr("9000000000000000000"));
  EXPECT_EQ(refusal("rate 1gbit limit 9000000000000000000"),
            "limit: expected a whole number up to 1000000000000, found \"9000000000000000000\"");
  EXPECT_THAT(refusal("reorder 25%"), HasSubstr("expected a delay"));
  EXPECT_THAT(refusal("delay 10ms gap 5"), HasSubstr("gap: expected reorder"));
  EXPECT_THAT(refusal("delay 10ms reorder 1% gap 2000000000"), HasSubstr("at most 1000000000"));
  EXPECT_THAT(refusal("slot distribution normal 1ms"), HasSubstr("slot: expected a time"));
  EXPECT_THAT(refusal("slot distribution ../cauchy 1ms 1ms"), HasSubstr("found \"../cauchy\""));
  EXPECT_THAT(refusal("slot distribution normal 1ms 0"), HasSubstr("a jitter above 0"));
  EXPECT_THAT(refusal("rate 1mbit 0 2000"), HasSubstr("at most 1024 B"));
  EXPECT_THAT(refusal("rate 1mbit 0 48 -5"), HasSubstr("cell overhead below 0"));
  EXPECT_THAT(refusal("loss 1% 99.5%"), HasSubstr("a correlation of at most 99%"));
  EXPECT_THAT(refusal("delay 1s limit 4000000000"), HasSubstr("at most 1000000000 packets"));
  EXPECT_THAT(refusal("slot soon"), HasSubstr("a time such as 800us, found \"soon\""));
  EXPECT_THAT(refusal("delay 10ms 1ms slot 1ms"), HasSubstr("jitter without a rate"));
  EXPECT_THAT(refusal("slot 1ms packets 2000000"), HasSubstr("at most 1000000"));
  EXPECT_THAT(refusal("rate 1.5bit"), HasSubstr("expected at least 1kbit, found 1.5bit"));
  EXPECT_THAT(refusal("rate 1gbit limit 10000000"), HasSubstr("expected at most 2836834 packets"));
  EXPECT_THAT(refusal("loss state 1% 30% 5% 0%"), HasSubstr("p23 above 0"));
  EXPECT_THAT(refusal("delay 10ms distribution normal"), HasSubstr("with jitter"));
  EXPECT_THAT(refusal("delay 10ms 1ms distribution /cauchy"), HasSubstr("found \"/cauchy\""));
}

}  // namespace netem_test
}  // namespace lw::config
