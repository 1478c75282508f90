// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/impair/match.h"
#include "config/toml/document.h"

namespace lw::config {
namespace impair_event_test {

using emulator::EventAction;
using emulator::EventConfig;
using emulator::PacketKind;
using emulator::PsnFrom;
using testing::HasSubstr;

Result<std::vector<EventConfig>> read(std::string_view text) {
  auto document = Document::parse(text, "x.toml");
  if (!document) return std::unexpected(document.error());
  const Table root = document->root();
  auto events = read_events(root);
  root.finish();
  if (const auto verdict = document->verdict(); !verdict) return std::unexpected(verdict.error());
  return events.armed;
}

std::vector<EventConfig> parsed(std::string_view text) {
  const auto events = read(text);
  EXPECT_TRUE(events) << events.error().message;
  return events.value_or(std::vector<EventConfig>{});
}

std::string refusal(std::string_view lines) {
  const auto events = read("[[event]]\n" + std::string(lines));
  EXPECT_FALSE(events) << lines;
  return events ? "" : events.error().message;
}

TEST(ImpairEvent, ByItselfItIsTheFirstRequestEitherWay) {
  const auto events = parsed("[[event]]\naction = \"drop\"");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].name, "event0");
  EXPECT_EQ(events[0].ways, emulator::Ways::both);
  EXPECT_FALSE(events[0].qp || events[0].qpn);
  EXPECT_EQ(events[0].on, PacketKind::request);
  EXPECT_EQ(events[0].psn_from, PsnFrom::any);
  EXPECT_EQ(events[0].occurrence, 1U);
  EXPECT_EQ(events[0].action, EventAction::drop);
}

TEST(ImpairEvent, EveryKey) {
  const auto events = parsed(R"(
    [[event]]
    name = "late"
    direction = "east-to-west"
    qp = 3
    psn_offset = 10
    occurrence = 2
    action = "delay"
    delay = "1ms"
    [[event]]
    qpn = 0x1a
    on = "read_response"
    psn = 0xfffffe
    action = "corrupt")");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].name, "late");
  EXPECT_EQ(events[0].ways, emulator::Ways::east_to_west);
  EXPECT_EQ(events[0].qp, 3U);
  EXPECT_EQ(events[0].psn_from, PsnFrom::start);
  EXPECT_EQ(events[0].psn, 10U);
  EXPECT_EQ(events[0].occurrence, 2U);
  EXPECT_EQ(events[0].delay, std::chrono::milliseconds{1});
  EXPECT_EQ(events[1].name, "event1");
  EXPECT_EQ(events[1].qpn, 0x1aU);
  EXPECT_EQ(events[1].on, PacketKind::read_response);
  EXPECT_EQ(events[1].psn_from, PsnFrom::absolute);
  EXPECT_EQ(events[1].psn, 0xfffffeU);
  EXPECT_EQ(events[1].action, EventAction::corrupt);
}

TEST(ImpairEvent, ListsBecomeAnEventEach) {
  const auto events =
      parsed("[[event]]\npsn = [\"16777215-1\", 9]\noccurrence = [1, \"3-4\"]\naction = \"drop\"");
  std::vector<std::pair<std::uint32_t, std::uint64_t>> got, expected;
  for (const auto& event : events) got.emplace_back(event.psn, event.occurrence);
  for (const std::uint32_t psn : {0xffffffu, 0u, 1u, 9u})
    for (const std::uint64_t n : {1u, 3u, 4u}) expected.emplace_back(psn, n);
  EXPECT_EQ(got, expected);
}

TEST(ImpairEvent, RefusalsNameThePlaceAndWhatWasExpected) {
  EXPECT_THAT(refusal(""), HasSubstr("x.toml:1:1: action: expected drop, mark"));
  EXPECT_THAT(refusal("action = \"loose\""), HasSubstr("x.toml:2:10: action"));
  EXPECT_THAT(refusal("action = \"drop\"\nqp = 1\nqpn = 5"), HasSubstr("x.toml:4:7: qpn"));
  EXPECT_THAT(refusal("action = \"drop\"\nqp = 0"), HasSubstr("from 1"));
  EXPECT_THAT(refusal("action = \"drop\"\npsn = 1\npsn_offset = 1"), HasSubstr("x.toml:4:14"));
  EXPECT_THAT(refusal("action = \"drop\"\non = \"cnp\"\npsn = 1"), HasSubstr("on = \"cnp\""));
  EXPECT_THAT(refusal("action = \"drop\"\noccurrence = 0"), HasSubstr("x.toml:3:14"));
  EXPECT_THAT(refusal("action = \"drop\"\ndelay = \"1ms\""), HasSubstr("x.toml:3:9: delay"));
  EXPECT_THAT(refusal("action = \"delay\""), HasSubstr("delay = \"1ms\""));
  EXPECT_THAT(refusal("action = \"drop\"\nnth = 5"), HasSubstr("unknown key \"nth\""));
  EXPECT_THAT(refusal("action = \"drop\"\npsn = \"0-16777215\""), HasSubstr("65536"));
}

}  // namespace impair_event_test
}  // namespace lw::config
