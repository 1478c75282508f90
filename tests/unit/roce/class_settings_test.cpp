// SPDX-License-Identifier: BSD-3-Clause
// Settings of a class of traffic: what each text sets, what is refused, and which side's value
// holds.
#include "roce/class_settings.h"

#include <gtest/gtest.h>

namespace lw::roce {
namespace {

ClassOfTraffic set_class_of(
    std::initializer_list<std::pair<std::string_view, std::string_view>> values) {
  ClassOfTraffic traffic;
  for (const auto& [key, text] : values)
    for (const ClassSetting& setting : class_settings()) {
      if (setting.key != key) continue;
      EXPECT_TRUE(setting.set(traffic, text)) << key << "=" << text;
    }
  return traffic;
}

std::string error_of(std::string_view key, std::string_view text) {
  ClassOfTraffic traffic;
  for (const ClassSetting& setting : class_settings())
    if (setting.key == key) {
      const auto set = setting.set(traffic, text);
      return set ? "" : set.error();
    }
  return "no such key";
}

TEST(ClassSettings, UsualMarksAreThoseOfNics) {
  EXPECT_EQ(ClassOfTraffic{}.marks(), kUsualMarks);
  EXPECT_EQ(kUsualMarks[3], (ClassMarks{.dscp = 48, .ecn = 2, .priority = 6}));
}

TEST(ClassSettings, ACommonValueIsNotThatOfCnps) {
  const auto marks = set_class_of({{"dscp", "26"}, {"priority", "3"}, {"ecn", "not-ect"}}).marks();
  for (std::size_t kind = 0; kind < 3; ++kind)
    EXPECT_EQ(marks[kind], (ClassMarks{.dscp = 26, .ecn = 0, .priority = 3}));
  EXPECT_EQ(marks[3], kUsualMarks[3]);
}

TEST(ClassSettings, KindsFollowEachOther) {
  const auto marks = set_class_of({{"dscp", "26,cnp=8,ack=0x0a"}}).marks();
  EXPECT_EQ(marks[0].dscp, 26);
  EXPECT_EQ(marks[1].dscp, 10);
  EXPECT_EQ(marks[2].dscp, 26);
  EXPECT_EQ(marks[3].dscp, 8);
}

TEST(ClassSettings, TosIsDscpAndEcn) {
  const auto marks = set_class_of({{"tos", "107"}}).marks();
  EXPECT_EQ(marks[0], (ClassMarks{.dscp = 26, .ecn = 3}));
}

TEST(ClassSettings, TextsThatAreNoValueAreRefused) {
  for (const auto& [key, text] : {std::pair{"dscp", "64"},
                                  {"dscp", ""},
                                  {"dscp", "=3"},
                                  {"dscp", "data="},
                                  {"dscp", "3,"},
                                  {"dscp", "all=3"},
                                  {"ecn", "4"},
                                  {"ecn", "CE"},
                                  {"tos", "256"},
                                  {"tos", "-1"},
                                  {"vlan", "4095"},
                                  {"priority", "8"},
                                  {"hop_limit", "0"},
                                  {"flow_label", "0x100000"},
                                  {"source_port", "0"},
                                  {"source_port", "flow"},
                                  {"p_key", "0x10000"},
                                  {"p_key", "0x"}})
    EXPECT_NE(error_of(key, text), "") << key << "=" << text;
}

TEST(ClassSettings, AnEarlierClassHolds) {
  const ClassOfTraffic own = set_class_of({{"dscp", "ack=5"}, {"vlan", "7"}});
  const ClassOfTraffic other = set_class_of({{"dscp", "9"}, {"vlan", "8"}, {"hop_limit", "3"}});
  const ClassOfTraffic both = own.over(other);
  EXPECT_EQ(both.kinds[0].dscp, 9);
  EXPECT_EQ(both.kinds[1].dscp, 5);
  EXPECT_EQ(both.vlan, 7);
  EXPECT_EQ(both.hop_limit, 3);
  EXPECT_TRUE(ClassOfTraffic{}.empty());
  EXPECT_FALSE(own.empty());
}

TEST(ClassSettings, KindsOfPacketsByOpcodeAndSyndrome) {
  constexpr std::uint8_t kAck = 0x11, kAtomicAck = 0x12, kReadResponse = 0x10, kUdSend = 0x64;
  EXPECT_EQ(class_kind(kAck, 0x1f), ClassKind::ack);
  EXPECT_EQ(class_kind(kAck, 0x20), ClassKind::nak);  // RNR
  EXPECT_EQ(class_kind(kAck, 0x60), ClassKind::nak);
  EXPECT_EQ(class_kind(kAtomicAck, 0), ClassKind::ack);
  EXPECT_EQ(class_kind(kReadResponse, 0), ClassKind::data);
  EXPECT_EQ(class_kind(kUdSend, 0), ClassKind::data);
  EXPECT_EQ(class_kind(0x81, 0), ClassKind::cnp);
}

TEST(ClassSettings, PartitionsMatchIfOneIsAFullMember) {
  EXPECT_TRUE(p_keys_match(0xffff, 0xffff));
  EXPECT_TRUE(p_keys_match(0xffff, 0x7fff));
  EXPECT_TRUE(p_keys_match(0x0001, 0x8001));
  EXPECT_FALSE(p_keys_match(0x0001, 0x0001));
  EXPECT_FALSE(p_keys_match(0x8001, 0x8002));
}

}  // namespace
}  // namespace lw::roce
