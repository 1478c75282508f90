// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/condition.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/dissect/capture_file.h"

namespace lw::dissect::test {
namespace {

using testing::HasSubstr;

/// Frame `number` (from 0) of a capture, which stays valid.
const CapturedFrame& captured_frame(const std::string& name, std::size_t number) {
  static std::map<std::pair<std::string, std::size_t>,
                  std::pair<lw::test::CapturedFrame, CapturedFrame>>
      kept;
  const auto [at, is_new] = kept.try_emplace({name, number});
  auto& [own, captured] = at->second;
  if (is_new) {
    own = real_frames(name).at(number);
    captured.number = number + 1;
    captured.record.bytes = own.bytes;
    captured.record.wire_length = static_cast<std::uint32_t>(own.wire_length);
    captured.record.stamp = instant_from_ns(1'700'000'000'250'000'000);
    captured.record.comment = "a remark, quoted";
    captured.interface_name = "eth1";
    captured.envelope = roce::open_envelope(own.bytes, own.wire_length);
  }
  return captured;
}

/// "yes" and "no", or the error.
std::string asked(std::string_view condition, const CapturedFrame& captured) {
  const auto parsed = Condition::parse(condition);
  if (!parsed) return parsed.error();
  return parsed->matches(Dissection(captured)) ? "yes" : "no";
}

/// Of an ACK: opcode 17, PSN 6331648 or so, 192.168.77.2 > 192.168.77.1.
const CapturedFrame& an_ack() { return captured_frame("rnr_nak.pcap", 2); }

TEST(Condition, ComparesNumbers) {
  for (const char* yes : {"bth.opcode == 17",
                          "infiniband.bth.opcode == 0x11",
                          "bth.opcode != 16",
                          "bth.opcode >= 17",
                          "bth.opcode <= 17",
                          "bth.opcode > 16",
                          "bth.opcode < 18",
                          "bth.opcode in {1, 5..17}",
                          "bth.opcode in {17..17}",
                          "udp.dstport==4791",
                          "bth.opcode & 0x10",
                          "bth.opcode & 16 == 16",
                          "bth.opcode & 0xe != 1",
                          "dst_qp == 0x29",
                          "frame.number == 3",
                          "number == 3",
                          "bth.a == false",
                          "frame.time_epoch == 1700000000.25",
                          "frame.time_epoch > 1700000000",
                          "frame.time_epoch in {-5..1700000000.250000000}"})
    EXPECT_EQ(asked(yes, an_ack()), "yes") << yes;
  for (const char* no :
       {"bth.opcode == 18", "bth.opcode != 17", "bth.opcode < 17", "bth.opcode > 17",
        "bth.opcode in {1, 18..20}", "bth.opcode & 0x0e", "bth.a == true"})
    EXPECT_EQ(asked(no, an_ack()), "no") << no;
}

TEST(Condition, ComparesAddressesAndTexts) {
  for (const char* yes :
       {"ip.src == 192.168.77.1", "ip.src == 192.168.0.0/16",
        "ip.src in {10.0.0.1, 192.168.77.0/24}", "ip.src in {192.168.77.0..192.168.77.9}",
        "ip.src < 192.168.77.2", "ip.src != 10.0.0.0/8", "ip.addr == 192.168.77.1",
        "ip.addr == 192.168.77.2", "ip.addr != 192.168.77.3", "udp.port == 4791",
        "eth.addr != 02:00:00:00:00:01", "longwire.opcode == \"RC ACK\"", "longwire.icrc == ok",
        "frame.interface_name == eth1", "frame.comment == \"a remark, quoted\"",
        "longwire.icrc in {bad, \"ok\"}"})
    EXPECT_EQ(asked(yes, an_ack()), "yes") << yes;
  for (const char* no : {"ip.addr != 192.168.77.1", "ip.src == 192.168.77.0/32",
                         "longwire.icrc == o", "eth.src == 02:00:00:00:00:01"})
    EXPECT_EQ(asked(no, an_ack()), "no") << no;
  EXPECT_EQ(
      asked("ipv6.src == fe80::/10 || ipv6.addr == fc00::/6", captured_frame("ipv6_rc.pcap", 0)),
      "yes");
}

TEST(Condition, AFieldThatIsNotThereSatisfiesNoComparison) {
  for (const char* no : {"ipv6.src == fe80::1", "ipv6.src != fe80::1", "reth.va", "reth.va >= 0",
                         "vlan.id in {0..4095}", "reth.va & 0"})
    EXPECT_EQ(asked(no, an_ack()), "no") << no;
  for (const char* yes : {"!reth.va", "!(ipv6.src == fe80::1)", "aeth.msn", "!vlan.id && ip.src"})
    EXPECT_EQ(asked(yes, an_ack()), "yes") << yes;
}

TEST(Condition, BindsOrLessThanAndLessThanNot) {
  for (const char* yes :
       {"bth.a || bth.opcode == 17 && ip.src", "ip.src || reth.va && vlan.id", "!reth.va && ip.src",
        "!(reth.va || vlan.id)", "((bth.opcode == 17))", "!!ip.src"})
    EXPECT_EQ(asked(yes, an_ack()), "yes") << yes;
  EXPECT_EQ(asked("(ip.src || reth.va) && vlan.id", an_ack()), "no");
  EXPECT_EQ(asked("!ip.src || reth.va", an_ack()), "no");
}

TEST(Condition, AnErrorHasItsColumnAndAHint) {
  const std::pair<const char*, const char*> cases[] = {
      {"bth.opcode == 17 && bth.pns > 3",
       "column 21: no field \"bth.pns\": did you mean \"bth.psn\"?"},
      {"bth.opcode = 17", "column 12: expected == to compare, found ="},
      {"bth.opcode == 256", "column 15: infiniband.bth.opcode has 8 bits: expected at most 255"},
      {"bth.opcode == ten", "column 15: expected a value of infiniband.bth.opcode, a number"},
      {"bth.opcode == 1.5", "column 15: expected a value"},
      {"ip.src == 10.0.0.0/33", "column 11: expected a value of ip.src, an IPv4 address"},
      {"ip.src == fe80::1", "column 11: expected a value of ip.src, an IPv4 address"},
      {"ip.src & 1", "column 8: & takes bits of a number"},
      {"longwire.opcode > \"A\"",
       "column 17: longwire.opcode is text: expected ==, !=, in or contains"},
      {"bth.opcode in 17", "column 15: expected { and the values of a set"},
      {"bth.opcode in {9..3}", "column 19: the range ends before it begins"},
      {"bth.opcode in {3", "column 17: expected , or }, found the end"},
      {"(bth.opcode", "column 12: expected ), found the end"},
      {"bth.opcode bth.psn", "column 12: expected &&, || or the end"},
      {"", "column 1: expected the name of a field, found the end"},
      {"== 3", "column 1: expected the name of a field, found \"==\""},
      {"frame.comment == \"open", "column 18: a quoted text without its closing quote"},
      {"eth.addr[0:3] == 52:54:00",
       "column 9: a slice compares some bytes of a field, and conditions the whole field, or bits "
       "of a number (&); tshark -Y takes it"},
      {"frame.comment matches \"lost.*\"",
       "column 15: conditions have no regular expressions: expected ==, in or contains; tshark -Y "
       "takes it"},
      {"longwire.opcode ~ ACK", "column 17: conditions have no regular expressions"},
      {"frame.cap_len < frame.len",
       "column 17: frame.cap_len is compared with values, not with the field frame.len; tshark -Y"},
      {"frame contains 00:11", "such as frame.number, to compare; tshark -Y looks into its bytes"},
      {"bth.opcode == 1 \x01", "column 17: expected &&, || or the end, found \"\\x01\""}};
  for (const auto& [text, error] : cases)
    EXPECT_THAT(asked(text, an_ack()), HasSubstr(error)) << text;
  EXPECT_THAT(asked(std::string(300, '(') + "ip.src", an_ack()), HasSubstr("more than 200 levels"));
}

TEST(Condition, EitherVlanTagCounts) {
  auto frame = real_frames("vlan100.pcap")[0];
  const std::string tag("\x81\x00\x00\x07", 4);
  std::vector<std::byte> bytes(frame.bytes.begin(), frame.bytes.begin() + 12);
  for (const char c : tag) bytes.push_back(static_cast<std::byte>(c));
  bytes.insert(bytes.end(), frame.bytes.begin() + 12, frame.bytes.end());
  CapturedFrame captured;
  captured.record.bytes = bytes;
  captured.envelope = roce::open_envelope(bytes);
  EXPECT_EQ(asked("vlan.id == 7 && vlan.id == 100 && vlan.id != 8", captured), "yes");
  EXPECT_EQ(asked("vlan.id != 100", captured), "no");
}

TEST(FieldTable, EachNameIsThereOnceAndFound) {
  std::vector<std::string_view> names;
  for (const Field& field : field_table()) {
    names.push_back(field.name);
    EXPECT_EQ(find_field(field.name).value(), &field);
    EXPECT_FALSE(field.header == nullptr && field.read == nullptr) << field.name;
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_GT(names.size(), 150u);
}

TEST(Condition, TakesWiresharksWords) {
  for (const char* yes :
       {"bth.opcode eq 17 and not bth.opcode eq 16", "bth.opcode ne 16 or bth.opcode lt 1",
        "bth.opcode ge 17 and bth.opcode le 17 and bth.opcode gt 16", "not (bth.opcode lt 17)"})
    EXPECT_EQ(asked(yes, an_ack()), "yes") << yes;
  EXPECT_THAT(asked("bth.opcode eq", an_ack()), HasSubstr("column 14: expected a value"));
}

TEST(Condition, AProtocolIsTrueWhereAFrameHasIt) {
  for (const char* yes : {"ip", "udp && infiniband", "infiniband.aeth", "aeth and bth", "eth"})
    EXPECT_EQ(asked(yes, an_ack()), "yes") << yes;
  for (const char* no : {"ipv6", "vlan", "infiniband.reth", "reth or deth"})
    EXPECT_EQ(asked(no, an_ack()), "no") << no;
  EXPECT_THAT(asked("ip == 10.0.0.1", an_ack()),
              HasSubstr("column 1: ip is a protocol: expected one of its fields, such as ip."));
  EXPECT_THAT(asked("tcp", an_ack()), HasSubstr("no field \"tcp\""));
}

TEST(Condition, LooksIntoText) {
  EXPECT_EQ(asked("frame.comment contains \"remark\"", an_ack()), "yes");
  EXPECT_EQ(asked("frame.comment contains \"longwire\"", an_ack()), "no");
  EXPECT_THAT(
      asked("bth.opcode contains 1", an_ack()),
      HasSubstr("column 12: contains looks into text, and infiniband.bth.opcode is a number"));
}

}  // namespace
}  // namespace lw::dissect::test
