// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/classifier.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/path_frames.h"

namespace lw::emulator {
namespace classifier_test {

using Config = MatchConfig;

roce::FrameFields ipv4_send() {
  roce::FrameFields fields;
  fields.bth.opcode = 0x04;
  fields.bth.dest_qp = 0x11;
  fields.bth.psn = wire::Psn(100);
  fields.ipv4.source = std::get<wire::Ipv4Address>(*wire::parse_ip("10.1.2.3"));
  fields.ipv4.destination = std::get<wire::Ipv4Address>(*wire::parse_ip("10.9.0.1"));
  fields.ipv4.dscp = 26;
  return fields;
}

roce::FrameFields ipv6_send() {
  roce::FrameFields fields = ipv4_send();
  fields.encapsulation = wire::Encapsulation::ipv6;
  fields.ipv6.source = std::get<wire::Ipv6Address>(*wire::parse_ip("2001:db8:1::5"));
  fields.ipv6.destination = std::get<wire::Ipv6Address>(*wire::parse_ip("2001:db8:2::5"));
  fields.ipv6.traffic_class = 26 << 2;
  return fields;
}

bool hits(const Config& config, std::span<const std::byte> frame) {
  const auto envelope = roce::open_envelope(frame);
  return Classifier(std::span(&config, 1)).classify(envelope, bth_of(envelope)) == 0;
}
bool hits(const Config& config, const roce::FrameFields& fields) {
  return hits(config, roce::compose(fields, {}));
}

AddressPrefix prefix(std::string_view address, int length) {
  return {*wire::parse_ip(address), static_cast<std::uint8_t>(length)};
}

TEST(Classifier, ByItselfARuleIsForRoceV2) {
  EXPECT_TRUE(hits({}, ipv4_send()));
  EXPECT_TRUE(hits({}, ipv6_send()));
  EXPECT_FALSE(hits({}, test::other_frame()));
  EXPECT_TRUE(hits(MatchedFrames::everything, test::other_frame()));
}

TEST(Classifier, PrefixesCountTheirLeadingBitsAndTheirFamily) {
  Config config;
  config.source = {prefix("10.1.2.255", 24)};  // bits behind the prefix don't count
  EXPECT_TRUE(hits(config, ipv4_send()));
  EXPECT_FALSE(hits(config, ipv6_send()));
  config.source = {prefix("10.1.3.0", 24)};
  EXPECT_FALSE(hits(config, ipv4_send()));
  config.source = {prefix("10.1.3.0", 23), prefix("2001:db8:1::", 48)};
  EXPECT_TRUE(hits(config, ipv4_send()));
  EXPECT_TRUE(hits(config, ipv6_send()));
  config.source = {prefix("0.0.0.0", 0)};
  EXPECT_TRUE(hits(config, ipv4_send()));
  EXPECT_FALSE(hits(config, ipv6_send()));
  config.source = {};
  config.destination = {prefix("2001:db8:2::5", 128)};
  EXPECT_TRUE(hits(config, ipv6_send()));
  config.destination = {prefix("2001:db8:2::4", 128)};
  EXPECT_FALSE(hits(config, ipv6_send()));
}

TEST(Classifier, AVlanIsTheOuterTagsAndAnUntaggedFrameHasNone) {
  Config config;
  config.vlan = {{0, 0}, {100, 199}};
  auto fields = ipv4_send();
  EXPECT_FALSE(hits(config, fields));
  for (const auto& [outer, expected] :
       {std::pair{0, true}, {99, false}, {100, true}, {199, true}, {200, false}}) {
    fields.vlans = {{.id = static_cast<std::uint16_t>(outer)}, {.id = 150}};
    EXPECT_EQ(hits(config, fields), expected) << outer;
  }
}

TEST(Classifier, DscpIsReadFromEitherIp) {
  Config config;
  config.dscp = {{26, 26}};
  EXPECT_TRUE(hits(config, ipv4_send()));
  EXPECT_TRUE(hits(config, ipv6_send()));
  config.dscp = {{0, 25}, {27, 63}};
  EXPECT_FALSE(hits(config, ipv4_send()));
  EXPECT_FALSE(hits(config, ipv6_send()));
}

TEST(Classifier, PsnRangesWrap) {
  Config config;
  config.psn = {{0xfffffe, 1}};
  auto fields = ipv4_send();
  for (const auto& [psn, expected] : {std::pair{0xfffffdu, false},
                                      {0xfffffe, true},
                                      {0xffffff, true},
                                      {0, true},
                                      {1, true},
                                      {2, false},
                                      {0x800000, false}}) {
    fields.bth.psn = wire::Psn(psn);
    EXPECT_EQ(hits(config, fields), expected) << psn;
  }
}

TEST(Classifier, QpsAreNumbersAndRanges) {
  Config config;
  config.dest_qp = {{7, 7}, {0x10, 0x1ff}, {0xffff00, 0xffffff}};
  auto fields = ipv4_send();
  for (const auto& [qp, expected] : {std::pair{6u, false},
                                     {7, true},
                                     {8, false},
                                     {0x0f, false},
                                     {0x10, true},
                                     {0x100, true},
                                     {0x1ff, true},
                                     {0x200, false},
                                     {0xfffeff, false},
                                     {0xffffff, true}}) {
    fields.bth.dest_qp = qp;
    EXPECT_EQ(hits(config, fields), expected) << qp;
  }
}

TEST(Classifier, ARoceFieldNeedsABthEvenWhereAllFramesAreLookedAt) {
  Config config = MatchedFrames::everything;
  config.dest_qp = {{0, 0xffffff}};
  EXPECT_TRUE(hits(config, ipv4_send()));
  EXPECT_FALSE(hits(config, test::other_frame()));
}

TEST(Classifier, ARuleWithAnAddressPassesOverFramesWithoutOne) {
  Config config = MatchedFrames::everything;
  config.source = {prefix("0.0.0.0", 0), prefix("::", 0)};
  EXPECT_TRUE(hits(config, ipv4_send()));
  EXPECT_FALSE(hits(config, test::other_frame()));
}

TEST(Classifier, AnExpressionIsHeldBesideTheFields) {
  // A = length; accept when it is above k
  const auto longer_than = [](std::uint32_t k) {
    return Expression{
        "",
        *BpfProgram::create({{0x80, 0, 0, 0}, {0x25, 0, 1, k}, {0x06, 0, 0, 1}, {0x06, 0, 0, 0}})};
  };
  Config config;
  config.dest_qp = {{0x11, 0x11}};
  config.expression = longer_than(50);
  EXPECT_TRUE(hits(config, ipv4_send()));
  config.expression = longer_than(500);
  EXPECT_FALSE(hits(config, ipv4_send()));
  config.expression = longer_than(50);
  config.dest_qp = {{0x12, 0x12}};
  EXPECT_FALSE(hits(config, ipv4_send()));
}

/// Rules beyond the first 64 live in further words.
TEST(Classifier, TheFirstOfManyRulesWins) {
  constexpr std::uint32_t kRules = 300;
  std::vector<Config> rules(kRules);
  for (std::uint32_t i = 0; i < kRules; ++i) rules[i].dest_qp = {{i, i}, {1000, 1000 + i}};
  const Classifier classifier(rules);
  auto fields = ipv4_send();
  const auto rule_for = [&](std::uint32_t qp) {
    fields.bth.dest_qp = qp;
    const auto frame = roce::compose(fields, {});
    const auto envelope = roce::open_envelope(frame);
    return classifier.classify(envelope, bth_of(envelope));
  };
  for (const std::uint32_t i : {0u, 63u, 64u, 127u, 128u, 299u}) {
    EXPECT_EQ(rule_for(i), i);
    EXPECT_EQ(rule_for(1000 + i), i);
  }
  EXPECT_EQ(rule_for(300), kUntouched);
}

/// Rules of which each looks at two fields, some not at all at one, held against each alone.
TEST(Classifier, TheFirstOfTenThousandRulesWins) {
  constexpr std::uint32_t kRules = 10'000;
  std::vector<Config> rules(kRules);
  for (std::uint32_t i = 0; i < kRules; ++i) {
    if (i % 7 != 6) rules[i].dest_qp = {{i * 3, i * 3 + 1}, {i * 3 + 1, i * 3 + 5}};
    rules[i].psn = {{i * 1000, i * 1000 + 50'000}, {0xffff00, i}};
  }
  const Classifier classifier(rules);
  auto fields = ipv4_send();
  const auto holds = [](const std::vector<NumberRange>& ranges, std::uint32_t value) {
    return ranges.empty() || std::ranges::any_of(ranges, [&](const NumberRange& r) {
             return r.first <= r.last ? r.first <= value && value <= r.last
                                      : r.first <= value || value <= r.last;
           });
  };
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint32_t qp = i * 151,
                        psn = i % 10 == 9 ? i : (i * 50'321 + i % 3 * 40'000) % 0x1000000;
    fields.bth.dest_qp = qp;
    fields.bth.psn = wire::Psn(psn);
    const auto frame = roce::compose(fields, {});
    const auto envelope = roce::open_envelope(frame);
    const auto first = std::ranges::find_if(
        rules, [&](const Config& rule) { return holds(rule.dest_qp, qp) && holds(rule.psn, psn); });
    const auto expected =
        first == rules.end() ? kUntouched : static_cast<RuleIndex>(first - rules.begin());
    EXPECT_EQ(classifier.classify(envelope, bth_of(envelope)), expected) << qp << ' ' << psn;
  }
}

/// More than 16 bits of rules; compiled from scratch, each took a look at all others.
TEST(Classifier, MoreThan65535RulesAreTold) {
  constexpr std::uint32_t kRules = 100'000;
  std::vector<Config> rules(kRules);
  for (std::uint32_t i = 0; i < kRules; ++i) rules[i].dest_qp = {{i, i}};
  const Classifier classifier(rules);
  auto fields = ipv4_send();
  for (const std::uint32_t qp : {0U, 65'535U, 65'536U, 99'999U, 100'000U}) {
    fields.bth.dest_qp = qp;
    const auto frame = roce::compose(fields, {});
    const auto envelope = roce::open_envelope(frame);
    EXPECT_EQ(classifier.classify(envelope, bth_of(envelope)), qp < kRules ? qp : kUntouched);
  }
}

TEST(Classifier, NoRulesMatchNothing) {
  const auto frame = test::roce_frame();
  const auto envelope = roce::open_envelope(frame);
  EXPECT_EQ(Classifier({}).classify(envelope, bth_of(envelope)), kUntouched);
}

}  // namespace classifier_test
}  // namespace lw::emulator
