// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/toml/document.h"
#include "core/quantity.h"

namespace lw::config {
namespace table_test {

Document parsed(std::string_view text) {
  auto document = Document::parse(text, "x.toml");
  EXPECT_TRUE(document) << (document ? "" : document.error().message);
  return std::move(*document);
}

std::string complaint(const Document& document) {
  const auto verdict = document.verdict();
  return verdict ? "" : verdict.error().message;
}

TEST(Document, RefusesWhatIsNotToml) {
  const auto document = Document::parse("a = 1\nb = = 2\n", "x.toml");
  ASSERT_FALSE(document);
  EXPECT_THAT(document.error().message, testing::StartsWith("x.toml:2:5: not TOML: "));
  EXPECT_EQ(document.error().exit, ExitCode::usage);
}

TEST(Document, NamesACaptureThatStandsInForAProfile) {
  for (const std::string_view start :
       {"\xd4\xc3\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x0a\x0d\x0d\x0a"}) {
    const auto found = Document::parse(std::string(start) + "....", "near.pcap");
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().message,
              "near.pcap: expected a profile (TOML), found a capture; the profile comes first");
  }
  EXPECT_THAT(Document::parse("\x28\xb5\x2f\xfd....", "a.zst").error().message,
              testing::HasSubstr("found a compressed file"));
}

TEST(Document, RefusesADuplicateKey) {
  const auto document = Document::parse("rate = 1\nrate = 2\n", "x.toml");
  ASSERT_FALSE(document);
  EXPECT_THAT(document.error().message, testing::StartsWith("x.toml:2:"));
}

TEST(Document, NamesAFileThatIsNotThere) {
  const auto document = Document::load("/nonexistent/flows.toml");
  ASSERT_FALSE(document);
  EXPECT_THAT(document.error().message, testing::HasSubstr("/nonexistent/flows.toml"));
  EXPECT_EQ(document.error().exit, ExitCode::usage);
}

TEST(Document, RefusesADirectory) { EXPECT_FALSE(Document::load("/")); }

TEST(Table, ReadsEveryKind) {
  auto document = parsed(R"(
rate = "10Gb/s"
size = 4096
also_size = "64KiB"
loss = "0.1%"
delay = "1.9ms"
fibre = "380km"
on = true
name = "flow"
qp = 0x123
va = "0xffff888000000000"
mac = "02:00:00:00:00:01"
ip = "2001:db8::1"
factor = 2
)");
  const Table root = document.root();
  EXPECT_EQ(root.get("rate", parse_bit_rate), 10e9);
  EXPECT_EQ(root.get("size", parse_bytes), 4096);
  EXPECT_EQ(root.get("also_size", parse_bytes), 65536);
  EXPECT_EQ(root.get("loss", parse_probability), 0.001);
  EXPECT_EQ(root.get("delay", parse_duration), Duration(1900000));
  EXPECT_EQ(root.get("fibre", parse_kilometres), 380);
  EXPECT_EQ(root.get("on", read_boolean), true);
  EXPECT_EQ(root.get("name", read_text), "flow");
  EXPECT_EQ(root.get("qp", integer<std::uint32_t>(0, 0xffffff)), 0x123u);
  EXPECT_EQ(root.get("va", integer<std::uint64_t>()), 0xffff888000000000u);
  EXPECT_EQ(wire::to_string(*root.get("mac", read_mac)), "02:00:00:00:00:01");
  EXPECT_EQ(wire::to_string(*root.get("ip", read_ip)), "2001:db8::1");
  EXPECT_EQ(root.get("factor", number(0, 10)), 2.0);
  EXPECT_EQ(root.get("absent", read_boolean), std::nullopt);
  EXPECT_EQ(root.get_or("absent", read_boolean, true), true);
  root.finish();
  EXPECT_EQ(complaint(document), "");
}

TEST(Table, NamesPlaceKeyExpectedAndFound) {
  auto document = parsed("a = 1\n  rate = \"-1Gb/s\"\n");
  EXPECT_EQ(document.root().get("rate", parse_bit_rate), std::nullopt);
  EXPECT_EQ(complaint(document),
            "x.toml:2:10: rate: expected a bit rate above 0, found \"-1Gb/s\"");
}

TEST(Table, ReportsAllMistakesInTheFilesOrder) {
  auto document = parsed("qp = 16777216\nmac = 5\nrate = \"fast\"\ndst_pq = 1\n");
  const Table root = document.root();
  (void)root.get("rate", parse_bit_rate);
  (void)root.get("mac", read_mac);
  (void)root.get("qp", integer<std::uint32_t>(0, 0xffffff));
  (void)root.get("dst_qp", integer<std::uint32_t>(0, 0xffffff));
  root.finish();
  EXPECT_EQ(complaint(document),
            "x.toml:1:6: qp: expected a whole number from 0 to 16777215, found 16777216\n"
            "x.toml:2:7: mac: expected a MAC address such as \"02:00:00:00:00:01\", found 5\n"
            "x.toml:3:8: rate: expected a bit rate such as \"100Gb/s\", found \"fast\"\n"
            "x.toml:4:1: unknown key \"dst_pq\": did you mean \"dst_qp\"?");
}

TEST(Table, SaysWhichKeyIsMissing) {
  auto document = parsed("\n[flow]\nname = \"x\"\n");
  const auto flow = document.root().table("flow");
  ASSERT_TRUE(flow);
  EXPECT_EQ(flow->require("source", read_ip, "an IP address"), std::nullopt);
  EXPECT_EQ(complaint(document), "x.toml:2:1: source: expected an IP address, found none");
}

TEST(Table, RefusesWrongTypes) {
  auto document = parsed("a = 1\nb = [1]\nc = {}\nd = 1979-05-27\ne = 1.5\nf = \"x\"\n");
  const Table root = document.root();
  (void)root.get("a", read_boolean);
  (void)root.get("b", parse_bytes);
  (void)root.get("c", parse_duration);
  (void)root.get("d", read_text);
  (void)root.get("e", integer<std::uint8_t>());
  EXPECT_FALSE(root.table("f"));
  EXPECT_TRUE(root.tables("a").empty());
  EXPECT_EQ(complaint(document),
            "x.toml:1:5: a: expected [[a]] tables, found 1\n"
            "x.toml:1:5: a: expected true or false, found 1\n"
            "x.toml:2:5: b: expected text, found an array\n"
            "x.toml:3:5: c: expected text, found a table\n"
            "x.toml:4:5: d: expected a string in quotes, found a date or time\n"
            "x.toml:5:5: e: expected a whole number from 0 to 255, found 1.5\n"
            "x.toml:6:5: f: expected a table, found \"x\"");
}

TEST(Table, ChoicesSuggestTheNearestName) {
  static constexpr Choice<int> kModes[] = {{"drop", 1}, {"queue", 2}};
  auto document = parsed("mode = \"quene\"\nother = \"drop\"\n");
  EXPECT_EQ(document.root().get("mode", choice(kModes)), std::nullopt);
  EXPECT_EQ(document.root().get("other", choice(kModes)), 1);
  EXPECT_EQ(complaint(document),
            "x.toml:1:8: mode: expected one of drop, queue, found \"quene\": did you mean "
            "\"queue\"?");
}

TEST(Table, ListsTakeOneOrMany) {
  auto document = parsed("a = [1, 2]\nb = 3\nc = [1, 300]\n");
  const auto bytes = list_of(integer<std::uint8_t>());
  EXPECT_EQ(document.root().get("a", bytes), (std::vector<std::uint8_t>{1, 2}));
  EXPECT_EQ(document.root().get("b", bytes), (std::vector<std::uint8_t>{3}));
  EXPECT_EQ(document.root().get("c", bytes), std::nullopt);
  EXPECT_EQ(complaint(document), "x.toml:3:5: c: expected a whole number from 0 to 255, found 300");
}

TEST(Table, DefaultsStandInAndComplainOnce) {
  auto document = parsed(R"([defaults]
mtu = 1000
ttl = 3
tll = 3
[[flow]]
ttl = 4
[[flow]]
)");
  const Table root = document.root();
  const auto defaults = root.table("defaults");
  ASSERT_TRUE(defaults);
  std::vector<std::uint8_t> ttls;
  for (const Table& flow : root.tables("flow")) {
    const Table layered = flow.with_defaults(*defaults);
    (void)layered.get("mtu", integer<std::uint16_t>(256, 512));
    ttls.push_back(layered.get_or("ttl", integer<std::uint8_t>(), 64));
    EXPECT_TRUE(layered.has("ttl"));
    EXPECT_EQ(layered.has_own("ttl"), ttls.size() == 1);
    layered.finish();
  }
  defaults->finish();
  EXPECT_EQ(ttls, (std::vector<std::uint8_t>{4, 3}));
  EXPECT_EQ(complaint(document),
            "x.toml:2:7: mtu: expected a whole number from 256 to 512, found 1000\n"
            "x.toml:4:1: unknown key \"tll\": did you mean \"ttl\"?");
}

TEST(Table, KeepsWhatTheCallerRefuses) {
  auto document = parsed("[run]\nsize = 5\n");
  const auto run = document.root().table("run");
  ASSERT_TRUE(run);
  run->refuse("size", "expected at most the MTU, found 5");
  run->refuse("nothing to do");
  EXPECT_EQ(complaint(document),
            "x.toml:1:1: nothing to do\n"
            "x.toml:2:8: size: expected at most the MTU, found 5");
}

}  // namespace table_test
}  // namespace lw::config
