// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/impair/match.h"
#include "config/toml/document.h"
#include "wire/opcode.h"

namespace lw::config {
namespace impair_match_test {

using emulator::MatchConfig;
using emulator::MatchedFrames;
using emulator::PacketKind;
using testing::ElementsAre;
using testing::HasSubstr;

/// `text` is a rule's `match = ...`.
Result<MatchConfig> read(std::string_view text) {
  auto document = Document::parse(text, "x.toml");
  if (!document) return std::unexpected(document.error());
  const Table rule = document->root();
  const MatchConfig match = read_match(rule);
  rule.finish();
  if (const auto verdict = document->verdict(); !verdict) return std::unexpected(verdict.error());
  return match;
}

MatchConfig parsed(std::string_view text) {
  const auto match = read(text);
  EXPECT_TRUE(match) << match.error().message;
  return match.value_or(MatchConfig{});
}

std::string refusal(std::string_view text) {
  const auto match = read(text);
  EXPECT_FALSE(match) << text;
  return match ? "" : match.error().message;
}

std::vector<std::string_view> opcode_names(const MatchConfig& match) {
  std::vector<std::string_view> names;
  for (const auto& info : wire::all_opcodes())
    if (match.opcodes && match.opcodes->test(info.opcode)) names.push_back(info.name);
  return names;
}

TEST(ImpairMatch, AWordSaysAllThereIsToSay) {
  EXPECT_EQ(parsed(""), MatchConfig{});
  EXPECT_EQ(parsed("match = \"rocev2\""), MatchConfig{});
  EXPECT_EQ(parsed("match = \"all\""), MatchConfig{MatchedFrames::everything});
}

TEST(ImpairMatch, WordsMayBeWrittenAsTheStandardWritesThem) {
  EXPECT_EQ(parsed("match = { position = [\"FIRST\", \"Last\"], transport = \"RC\" }"),
            parsed("match = { position = [\"first\", \"last\"], transport = \"rc\" }"));
  EXPECT_EQ(parsed("match = { kind = [\"NAK\", \"CNP\", \"READ response\"] }"),
            parsed("match = { kind = [\"nak\", \"cnp\", \"read_response\"] }"));
}

TEST(ImpairMatch, OpcodesMayBeRanges) {
  EXPECT_EQ(parsed("match = { opcode = \"0x06-0x08\" }"), parsed("match = { opcode = [6, 7, 8] }"));
  EXPECT_EQ(parsed("match = { opcode = [\"0-255\", \"RC-SEND-FIRST\"] }").opcodes->count(), 256U);
  EXPECT_THAT(refusal("match = { opcode = \"8-6\" }"), HasSubstr("0-255"));
  EXPECT_THAT(refusal("match = { opcode = \"8-256\" }"), HasSubstr("0-255"));
}

TEST(ImpairMatch, EveryKey) {
  const auto match = parsed(R"(
    [match]
    source = ["10.0.0.0/8", "2001:db8::/32"]
    destination = "192.0.2.1"
    vlan = [100, "200-299"]
    dscp = 26
    dst_qp = ["0x10-0x1f", 7]
    psn = "16777214-1"
    kind = ["request", "read_response"])");
  EXPECT_EQ(match.frames, MatchedFrames::rocev2);
  ASSERT_EQ(match.source.size(), 2U);
  EXPECT_EQ(match.source[0], (emulator::AddressPrefix{*wire::parse_ip("10.0.0.0"), 8}));
  EXPECT_EQ(match.source[1], (emulator::AddressPrefix{*wire::parse_ip("2001:db8::"), 32}));
  EXPECT_THAT(match.destination,
              ElementsAre(emulator::AddressPrefix{*wire::parse_ip("192.0.2.1"), 32}));
  EXPECT_THAT(match.vlan,
              ElementsAre(emulator::NumberRange{100, 100}, emulator::NumberRange{200, 299}));
  EXPECT_THAT(match.dscp, ElementsAre(emulator::NumberRange{26, 26}));
  EXPECT_THAT(match.dest_qp,
              ElementsAre(emulator::NumberRange{16, 31}, emulator::NumberRange{7, 7}));
  EXPECT_THAT(match.psn, ElementsAre(emulator::NumberRange{0xfffffe, 1}));
  ASSERT_TRUE(match.kinds);
  EXPECT_EQ(match.kinds->count(), 2U);
  EXPECT_TRUE(match.kinds->test(static_cast<std::size_t>(PacketKind::read_response)));
  EXPECT_FALSE(match.opcodes);
  EXPECT_FALSE(match.expression);
}

/// Names as in the specification's table 38.
TEST(ImpairMatch, TransportOperationAndPositionComeToOpcodes) {
  EXPECT_THAT(opcode_names(parsed("match = {transport = \"uc\", operation = \"write\", "
                                  "position = [\"first\", \"last\"]}")),
              ElementsAre("UC WRITE FIRST", "UC WRITE LAST", "UC WRITE LAST IMM"));
  EXPECT_THAT(opcode_names(parsed("match = {opcode = [\"rc_send_only\", \"UD SEND ONLY\", 12]}")),
              ElementsAre("RC SEND ONLY", "RC READ REQUEST", "UD SEND ONLY"));
  EXPECT_THAT(opcode_names(parsed("match = {opcode = [4, 12], operation = \"send\"}")),
              ElementsAre("RC SEND ONLY"));
  // A reserved opcode has a number only.
  EXPECT_TRUE(parsed("match = {opcode = 0x1f}").opcodes->test(0x1f));
}

TEST(ImpairMatch, AFilterLooksAtAllFramesUnlessToldOtherwise) {
  const auto match = parsed("match = {filter = \"arp or vlan 5\"}");
  EXPECT_EQ(match.frames, MatchedFrames::everything);
  ASSERT_TRUE(match.expression);
  EXPECT_EQ(match.expression->text, "arp or vlan 5");
  std::vector<std::byte> frame(60);
  EXPECT_FALSE(match.expression->program.matches(frame, 60));
  frame[12] = std::byte{0x08};
  frame[13] = std::byte{0x06};
  EXPECT_TRUE(match.expression->program.matches(frame, 60));
  EXPECT_EQ(parsed("match = {filter = \"ip\", frames = \"rocev2\"}").frames, MatchedFrames::rocev2);
  EXPECT_EQ(parsed("match = {vlan = 5, frames = \"all\"}").frames, MatchedFrames::everything);
}

TEST(ImpairMatch, RefusalsNameThePlaceAndWhatWasExpected) {
  EXPECT_THAT(refusal("match = \"rocev1\""),
              HasSubstr("x.toml:1:9: match: expected one of rocev2"));
  EXPECT_THAT(refusal("[match]\ndest_qp = 5"), HasSubstr("x.toml:2:1: unknown key"));
  EXPECT_THAT(refusal("match = {dst_qp = \"9-5\"}"), HasSubstr("x.toml:1:19: dst_qp"));
  EXPECT_THAT(refusal("match = {dst_qp = 0x1000000}"), HasSubstr("16777215"));
  EXPECT_THAT(refusal("match = {dscp = 64}"), HasSubstr("63"));
  EXPECT_THAT(refusal("match = {vlan = \"-5\"}"), HasSubstr("4095"));
  EXPECT_THAT(refusal("match = {vlan = []}"), HasSubstr("at least one"));
  EXPECT_THAT(refusal("match = {source = \"10.0.0.0/33\"}"), HasSubstr("0 to 32"));
  EXPECT_THAT(refusal("match = {source = \"10.0.0/8\"}"), HasSubstr("prefix"));
  EXPECT_THAT(refusal("match = {opcode = \"RC SEND FRIST\"}"), HasSubstr("\"RC SEND FIRST\""));
  EXPECT_THAT(refusal("match = {opcode = 256}"), HasSubstr("0 to 255"));
  EXPECT_THAT(refusal("match = {kind = \"nack\"}"), HasSubstr("did you mean"));
  EXPECT_THAT(refusal("match = {transport = \"ud\", operation = \"write\"}"),
              HasSubstr("x.toml:1:9"));
  EXPECT_THAT(refusal("match = {filter = \"udp prot 4791\"}"), HasSubstr("x.toml:1:19: filter"));
}

}  // namespace impair_match_test
}  // namespace lw::config
