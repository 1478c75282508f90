// SPDX-License-Identifier: BSD-3-Clause
// Events on real captures. Frame numbers, QPs and PSNs are as tshark 4.0 lists them:
// -T fields -e frame.number -e infiniband.bth.destqp -e infiniband.bth.opcode -e infiniband.bth.psn
#include "emulator/events/events.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulator/match/match.h"
#include "support/captures.h"
#include "support/path_frames.h"

namespace lw::emulator {
namespace events_test {

using testing::ElementsAre;
using testing::IsEmpty;

/// The frames that events drop in a capture, both ways of which pass as one direction.
std::vector<std::size_t> dropped(const std::string& capture, std::span<const EventConfig> configs) {
  Events events(Direction::west_to_east, configs);
  std::vector<std::size_t> numbers;
  for (const auto& frame : test::frames_of(test::source_root() / "pcaps/rxe" / capture)) {
    const auto envelope = roce::open_envelope(frame.bytes, frame.wire_length);
    const auto* bth = bth_of(envelope);
    if (bth && events.on_packet(envelope, *bth).drop) numbers.push_back(frame.number);
  }
  return numbers;
}
std::vector<std::size_t> dropped(const std::string& capture, const EventConfig& config) {
  return dropped(capture, std::span(&config, 1));
}

EventConfig nth_of(PacketKind on, std::uint64_t occurrence) {
  EventConfig event;
  event.on = on;
  event.occurrence = occurrence;
  return event;
}

EventConfig at_psn(PsnFrom from, std::uint32_t psn, std::uint64_t occurrence = 1) {
  EventConfig event;
  event.psn_from = from;
  event.psn = psn;
  event.occurrence = occurrence;
  return event;
}

TEST(Events, FindTheNthTransmissionThroughGoBackN) {
  const auto nth = [](std::uint64_t n) {
    return dropped("loss_write_sender_side.pcap", at_psn(PsnFrom::absolute, 12668771, n));
  };
  EXPECT_THAT(nth(1), ElementsAre(30));
  EXPECT_THAT(nth(2), ElementsAre(60));
  EXPECT_THAT(nth(3), ElementsAre(77));
  EXPECT_THAT(nth(4), ElementsAre(89));
  EXPECT_THAT(nth(5), IsEmpty());
}

TEST(Events, AnOffsetCountsFromTheStreamsFirstPsn) {
  auto event = at_psn(PsnFrom::start, 39, 5);  // 12668742 + 39
  event.qp = 1;
  EXPECT_THAT(dropped("loss_write_sender_side.pcap", event), ElementsAre(106));
}

TEST(Events, SeveralWaitForOnePacketOrOnePsn) {
  const std::vector events = {at_psn(PsnFrom::absolute, 12668768, 3),
                              at_psn(PsnFrom::absolute, 12668768, 1), at_psn(PsnFrom::start, 26, 2),
                              nth_of(PacketKind::nak, 1)};
  EXPECT_THAT(dropped("loss_write_sender_side.pcap", events), ElementsAre(27, 45, 57, 73));
}

TEST(Events, TheNthOfAKind) {
  EXPECT_THAT(dropped("rnr_nak.pcap", nth_of(PacketKind::rnr_nak, 2)), ElementsAre(131));
  EXPECT_THAT(dropped("rnr_nak.pcap", nth_of(PacketKind::nak, 3)), ElementsAre(254));
  EXPECT_THAT(dropped("cm_rping.pcap", nth_of(PacketKind::read_response, 2)), ElementsAre(19));
  EXPECT_THAT(dropped("cm_rping.pcap", nth_of(PacketKind::cm, 2)), ElementsAre(2));
  EXPECT_THAT(dropped("cm_rping.pcap", nth_of(PacketKind::ack, 3)), ElementsAre(11));
  EXPECT_THAT(dropped("cm_rping.pcap", nth_of(PacketKind::cnp, 1)), IsEmpty());
}

/// 192.168.77.2 sends to the first QP seen, 192.168.77.1 to the second; both are number 0x1a.
TEST(Events, QpsAreNumberedAsTheyAppearAndQpOneIsNone) {
  auto event = nth_of(PacketKind::request, 2);
  event.qp = 1;
  EXPECT_THAT(dropped("cm_rping.pcap", event), ElementsAre(10));
  event.qp = 2;
  EXPECT_THAT(dropped("cm_rping.pcap", event), ElementsAre(8));
  event.qp = 3;
  EXPECT_THAT(dropped("cm_rping.pcap", event), IsEmpty());
  event.qp.reset();
  event.qpn = 0x1a;
  EXPECT_THAT(dropped("cm_rping.pcap", event), ElementsAre(6));
  event.qpn = 0x1b;
  EXPECT_THAT(dropped("cm_rping.pcap", event), IsEmpty());
  event.qpn = 1;
  event.on = PacketKind::cm;
  EXPECT_THAT(dropped("cm_rping.pcap", event), ElementsAre(2));
}

/// Over IPv6, two QPs of one number are apart too.
TEST(Events, QpsOverIpv6AreLearntToo) {
  auto event = at_psn(PsnFrom::start, 1);
  event.qp = 1;
  EXPECT_THAT(dropped("ipv6_cm_rping.pcap", event), ElementsAre(10));  // 9694030
  event.qp = 2;
  EXPECT_THAT(dropped("ipv6_cm_rping.pcap", event), ElementsAre(8));  // 16398245
}

TEST(Events, TheConnectionManagerSaysWhatAStreamBeginsWith) {
  // Frames 4 to 9 are left out, in which each side's first request is.
  const auto frames = test::frames_of(test::source_root() / "pcaps/rxe/cm_rping.pcap");
  const auto first_dropped = [&](std::uint32_t qp, PacketKind on, bool with_cm) {
    auto event = at_psn(PsnFrom::start, 2);
    event.qp = qp;
    event.on = on;
    Events events(Direction::west_to_east, std::span(&event, 1));
    for (const auto& frame : frames) {
      if (frame.number >= (with_cm ? 4 : 1) && frame.number < 10) continue;
      const auto envelope = roce::open_envelope(frame.bytes, frame.wire_length);
      if (events.on_packet(envelope, *bth_of(envelope)).drop) return frame.number;
    }
    return std::size_t{0};
  };
  EXPECT_EQ(first_dropped(1, PacketKind::request, true), 16U);   // 10256914 + 2
  EXPECT_EQ(first_dropped(1, PacketKind::request, false), 22U);  // 10256915 + 2
  EXPECT_EQ(first_dropped(2, PacketKind::request, true), 12U);   // 6331647 + 2
  EXPECT_EQ(first_dropped(2, PacketKind::request, false), 18U);  // 6331649 + 2
  // 192.168.77.2's answers have the PSNs of 192.168.77.1's requests.
  EXPECT_EQ(first_dropped(1, PacketKind::ack, true), 13U);
}

/// As a bump in the wire sees it: 192.168.77.2's frames pass one way, 192.168.77.1's the other,
/// where nothing is asked for.
TEST(Events, TheReplyIsHeardFromTheOtherDirection) {
  auto event = at_psn(PsnFrom::start, 2);
  event.ways = Ways::west_to_east;
  event.qp = 1;
  const auto exchange = std::make_shared<CmExchange>();
  Events eastward(Direction::west_to_east, std::span(&event, 1));
  Events westward(Direction::east_to_west, std::span(&event, 1));
  eastward.join(exchange);
  westward.join(exchange);
  std::size_t dropped = 0;
  for (const auto& frame : test::frames_of(test::source_root() / "pcaps/rxe/cm_rping.pcap")) {
    if (frame.number == 4) continue;  // the first request is lost before it comes here
    const auto envelope = roce::open_envelope(frame.bytes, frame.wire_length);
    Events& way = envelope.source() == "192.168.77.2" ? eastward : westward;
    if (way.on_packet(envelope, *bth_of(envelope)).drop) dropped = frame.number;
  }
  EXPECT_EQ(dropped, 16U);  // 10256914 + 2; 22 if the first were thought to be 10256915
}

TEST(Events, AreForTheirDirection) {
  auto event = nth_of(PacketKind::request, 1);
  event.ways = Ways::east_to_west;
  EXPECT_THAT(dropped("atomic.pcap", event), IsEmpty());
}

TEST(Events, ActionsThatMeetOnOnePacketAddUp) {
  std::vector<EventConfig> configs(6, nth_of(PacketKind::request, 1));
  configs[0].action = configs[1].action = EventAction::duplicate;
  configs[2].action = EventAction::mark;
  configs[3].action = configs[4].action = EventAction::delay;
  configs[3].delay = Duration{5};
  configs[4].delay = Duration{7};
  configs[4].psn_from = PsnFrom::start;
  configs[5].action = EventAction::corrupt;
  Events events(Direction::west_to_east, configs);
  const auto frame = test::roce_frame();
  const auto envelope = roce::open_envelope(frame);
  EXPECT_EQ(events.on_packet(envelope, *bth_of(envelope)),
            (EventActions{.mark = true, .corrupt = true, .copies = 2, .delay = Duration{12}}));
  EXPECT_FALSE(events.pending());
  EXPECT_EQ(events.on_packet(envelope, *bth_of(envelope)), EventActions{});
}

TEST(Events, WhatDidNotHappenIsSaid) {
  std::vector configs = {nth_of(PacketKind::request, 4), nth_of(PacketKind::request, 1),
                         nth_of(PacketKind::request, 3)};
  configs[0].name = "fourth";
  configs[1].name = configs[2].name = "others";
  Events events(Direction::west_to_east, configs);
  const auto frame = test::roce_frame();
  const auto envelope = roce::open_envelope(frame);
  EXPECT_TRUE(events.on_packet(envelope, *bth_of(envelope)).drop);
  EXPECT_FALSE(events.on_packet(envelope, *bth_of(envelope)).drop);
  EXPECT_TRUE(events.pending());
  const auto outcomes = events.outcomes();
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].name, "fourth");
  EXPECT_EQ(outcomes[0].happened, 0U);
  EXPECT_EQ(outcomes[0].all, 1U);
  EXPECT_EQ(outcomes[1].name, "others");
  EXPECT_EQ(outcomes[1].happened, 1U);
  EXPECT_EQ(outcomes[1].all, 2U);
}

/// Every QP has its event, at a PSN of its own across the wrap; a plain map is the judge.
TEST(Events, ThousandsOfQpsEachWithItsOwn) {
  constexpr std::uint32_t kQps = 3000, kRounds = 6;
  std::vector<EventConfig> configs;
  for (std::uint32_t i = 0; i < kQps; ++i) {
    auto event = at_psn(PsnFrom::start, i % 4);
    (i % 2 ? event.qp : event.qpn) = i % 2 ? i + 1 : 100 + i;
    configs.push_back(event);
  }
  Events events(Direction::west_to_east, configs);
  std::map<std::uint32_t, std::uint32_t> dropped_at;
  for (std::uint32_t round = 0; round < kRounds; ++round)
    for (std::uint32_t i = 0; i < kQps; ++i) {
      const auto frame = test::roce_frame(100 + i, 0xfffffe + round);
      const auto envelope = roce::open_envelope(frame);
      if (events.on_packet(envelope, *bth_of(envelope)).drop) {
        EXPECT_TRUE(dropped_at.emplace(i, round).second);
      }
    }
  ASSERT_EQ(dropped_at.size(), kQps);
  for (const auto& [qp, round] : dropped_at) EXPECT_EQ(round, qp % 4) << qp;
  EXPECT_EQ(events.qps(), kQps);
}

TEST(Events, QpsBeyondTheRoomAreCountedAndHarmNobody) {
  auto event = at_psn(PsnFrom::absolute, 7);
  event.qp = 2;
  auto any = nth_of(PacketKind::request, 5);
  auto never = event;  // as long as QPs are looked for, they are learnt
  never.qp = 9;
  const std::vector configs = {event, any, never};
  Events events(Direction::west_to_east, configs, 2);
  const auto drops = [&](std::uint32_t qp, std::uint32_t psn) {
    const auto frame = test::roce_frame(qp, psn);
    const auto envelope = roce::open_envelope(frame);
    return events.on_packet(envelope, *bth_of(envelope)).drop;
  };
  EXPECT_FALSE(drops(10, 7));
  EXPECT_FALSE(drops(11, 6));
  EXPECT_FALSE(drops(12, 7));
  EXPECT_EQ(events.untracked(), 1U);
  EXPECT_TRUE(drops(11, 7));
  EXPECT_TRUE(drops(12, 8));  // the fifth request of all
}

}  // namespace events_test
}  // namespace lw::emulator
