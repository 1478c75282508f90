// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gen/telemetry/record_packer.h"
#include "support/hex.h"

namespace lw::gen {
namespace telemetry_test {

using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

std::string hex_of(const Bytes& bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text;
}

constexpr const char* kFirst = "fc000000000000005555666677778888";
constexpr const char* kSecond = "fc000000000000001111222233334444";

/// A TCP packet over IPv6, without payload.
std::string packet(const std::string& source, const std::string& destination,
                   const std::string& ports, const std::string& numbers) {
  return "020000000002020000000001"
         "86dd"
         "6000000000140640" +
         source + destination + ports + numbers + "5010200000000000";
}

RecordPacker shipped(const std::string& name) {
  auto layout = config::load_record_layout(std::string(std::getenv("LONGWIRE_SOURCE")) +
                                           "/profiles/telemetry/" + name + ".toml");
  EXPECT_TRUE(layout) << layout.error().message;
  return RecordPacker(*layout);
}

std::string record_of(RecordPacker& packer, const std::string& hex) {
  const Bytes frame = test::from_hex(hex);
  Bytes record(packer.size());
  return packer.pack(roce::open_envelope(frame), record) ? hex_of(record) : "none";
}

/// The three records that the study published.
TEST(Telemetry, PacksThePublishedRecords) {
  RecordPacker packer = shipped("flow48");
  ASSERT_EQ(packer.size(), 48u);
  const std::string there = std::string(kFirst) + kSecond, back = std::string(kSecond) + kFirst;
  EXPECT_EQ(record_of(packer, packet(kFirst, kSecond, "00de006f", "0000121200003434")),
            there + "00de006f" + "00001212" + "00003434" + "00000000");
  EXPECT_EQ(record_of(packer, packet(kSecond, kFirst, "006f00de", "0000343500001213")),
            back + "006f00de" + "00003435" + "00001213" + "00000001");
  EXPECT_EQ(record_of(packer, packet(kFirst, kSecond, "00de006f", "0000121400003436")),
            there + "00de006f" + "00001214" + "00003436" + "00000002");
}

TEST(Telemetry, PassesOverOtherPacketsAndCountsCutOnes) {
  RecordPacker packer = shipped("flow48");
  const std::string whole = packet(kFirst, kSecond, "00de006f", "0000121200003434");
  std::string udp = whole;
  udp.replace(40, 2, "11");
  EXPECT_EQ(record_of(packer, udp), "none");
  EXPECT_EQ(record_of(packer, "0200000000020200000000010806"), "none");
  EXPECT_EQ(record_of(packer, whole.substr(0, whole.size() - 36)), "none");  // within TCP's ports
  EXPECT_EQ(packer.counters().passed_over, 2u);
  EXPECT_EQ(packer.counters().cut, 1u);
  EXPECT_EQ(record_of(packer, whole).substr(88), "00000000");  // the first record all the same
}

TEST(Telemetry, ShippedLayoutsLoad) { EXPECT_EQ(shipped("roce32").size(), 32u); }

std::string refusal(const std::string& text) {
  const auto layout = config::parse_record_layout(text, "x.toml");
  return layout ? "" : layout.error().message;
}

TEST(Telemetry, WrongLayoutsAreRefused) {
  const std::string counter = "[[field]]\nname = \"n\"\nheader = \"counter\"\nbytes = 4\n";
  EXPECT_EQ(refusal(counter), "");
  EXPECT_THAT(refusal(""), HasSubstr("expected one [[field]] with header = \"counter\", found 0"));
  EXPECT_THAT(refusal(counter + counter), HasSubstr("found 2"));
  EXPECT_THAT(
      refusal(counter + "[[field]]\nname = \"n\"\nheader = \"ip\"\noffset = 0\nbytes = 4\n"),
      HasSubstr("another field is called \"n\""));
  EXPECT_THAT(refusal("ip = 5\n" + counter), HasSubstr("x.toml:1:"));
  EXPECT_THAT(refusal("protocol = \"icmp\"\n" + counter), HasSubstr("\"tcp\", \"udp\""));
  EXPECT_THAT(refusal(counter + "[[field]]\nname = \"a\"\nheader = \"ip\"\nbytes = 4\n"),
              HasSubstr("offset"));
  EXPECT_THAT(
      refusal(counter + "[[field]]\nname = \"a\"\nheader = \"tcp\"\noffset = 0\nbytes = 4\n"),
      HasSubstr("transport"));
  EXPECT_THAT(refusal("[[field]]\nname = \"n\"\nheader = \"counter\"\nbytes = 9\n"),
              HasSubstr("8"));
}

}  // namespace telemetry_test
}  // namespace lw::gen
