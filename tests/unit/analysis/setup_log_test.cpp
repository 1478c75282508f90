// SPDX-License-Identifier: BSD-3-Clause
// Messages of connection managers as set-ups: which belong together, and how each ended.
#include "analysis/setup/setup_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lw::analysis {
namespace setup_log_test {

using wire::CmMessage;

HostAddress host(int number) {
  HostAddress address{};
  address[15] = static_cast<std::byte>(number);
  return address;
}

constexpr std::uint32_t kIds[] = {0x101, 0x202}, kQps[] = {0x11, 0x22};

/// Two hosts, and a log of what they say, a frame each 1 ms.
struct Talk {
  SetupLog log;
  std::uint64_t frame = 0;

  CmNote note(CmMessage message, int by) const {
    return {.message = message,
            .source = host(1 + by),
            .destination = host(2 - by),
            .local_id = kIds[by],
            .remote_id = message == CmMessage::req ? 0 : kIds[1 - by],
            .qpn = kQps[by]};
  }
  void add(const CmNote& said) {
    ++frame;
    log.add({.number = frame, .stamp = Instant{Duration{frame * 1'000'000}}, .what = said});
  }
  void say(CmMessage message, int by = 0) { add(note(message, by)); }
  void reject(std::uint16_t reason, int by, std::uint8_t rejected) {
    CmNote said = note(CmMessage::rej, by);
    said.reason = reason;
    said.rejected = rejected;
    add(said);
  }
  ConnectionSetup& only() {
    EXPECT_EQ(log.setups().size(), 1U);
    return log.setups().front();
  }
};

TEST(SetupLog, AThreeWayHandshakeIsDone) {
  Talk talk;
  talk.say(CmMessage::req);
  talk.say(CmMessage::rep, 1);
  talk.say(CmMessage::rtu);
  const ConnectionSetup& setup = talk.only();
  EXPECT_EQ(setup.end(), SetupEnd::done);
  EXPECT_EQ(setup.duration(), std::chrono::milliseconds{2});
  EXPECT_EQ(setup.requester_qp, kQps[0]);
  EXPECT_EQ(setup.replier_qp, kQps[1]);
  EXPECT_FALSE(setup.disconnected_by());
  const QpFlowKey there{.source = host(1), .destination = host(2), .qp = kQps[1]};
  EXPECT_EQ(talk.log.find(there, 9), &setup);
  EXPECT_EQ(talk.log.find(there, 1), nullptr);  // before the REP
}

TEST(SetupLog, ARepeatedRequestIsOneSetup) {
  Talk talk;
  for (int i = 0; i < 16; ++i) talk.say(CmMessage::req);
  ConnectionSetup& setup = talk.only();
  EXPECT_EQ(setup.requests().count, 16U);
  EXPECT_EQ(setup.end(), SetupEnd::open);
  setup.asked_enough = true;
  EXPECT_EQ(setup.end(), SetupEnd::unanswered);
}

TEST(SetupLog, ARefusalByEitherSide) {
  Talk by_replier;
  by_replier.say(CmMessage::req);
  by_replier.reject(8, 1, 0);
  EXPECT_EQ(by_replier.only().end(), SetupEnd::rejected);
  EXPECT_EQ(reject_text(by_replier.only()), "reason 8, Invalid Service ID");
  Talk by_requester;
  by_requester.say(CmMessage::req);
  by_requester.say(CmMessage::rep, 1);
  by_requester.reject(28, 0, 1);
  EXPECT_EQ(by_requester.only().end(), SetupEnd::rejected);
  EXPECT_FALSE(by_requester.only().is_withdrawn());
}

TEST(SetupLog, ARequesterThatGivesUpWasNotRefused) {
  Talk talk;
  talk.say(CmMessage::req);
  talk.say(CmMessage::req);
  talk.reject(4, 0, 2);
  EXPECT_TRUE(talk.only().is_withdrawn());
  EXPECT_EQ(talk.only().end(), SetupEnd::unanswered);
}

TEST(SetupLog, ANewRequestAfterARefusalIsAnotherSetup) {
  Talk talk;
  for (int i = 0; i < 3; ++i) {
    talk.say(CmMessage::req);
    talk.reject(8, 1, 0);
  }
  ASSERT_EQ(talk.log.setups().size(), 3U);
  for (const ConnectionSetup& setup : talk.log.setups()) EXPECT_EQ(setup.end(), SetupEnd::rejected);
}

TEST(SetupLog, ReplysThatNobodyConfirms) {
  Talk talk;
  talk.say(CmMessage::req);
  for (int i = 0; i < 3; ++i) talk.say(CmMessage::rep, 1);
  ConnectionSetup& setup = talk.only();
  setup.asked_enough = true;
  EXPECT_EQ(setup.end(), SetupEnd::unconfirmed);
  setup.has_traffic = true;  // its RTU was lost
  EXPECT_EQ(setup.end(), SetupEnd::done);
}

TEST(SetupLog, ADisconnectNamesItsSide) {
  for (const std::uint8_t by : {ConnectionSetup::kRequester, ConnectionSetup::kReplier}) {
    Talk talk;
    talk.say(CmMessage::req);
    talk.say(CmMessage::rep, 1);
    talk.say(CmMessage::rtu);
    for (int i = 0; i < 3; ++i) talk.say(CmMessage::dreq, by);
    EXPECT_EQ(talk.only().disconnected_by(), by);
    EXPECT_TRUE(talk.only().is_disconnect_unanswered());
    talk.say(CmMessage::drep, 1 - by);
    EXPECT_FALSE(talk.only().is_disconnect_unanswered());
  }
}

TEST(SetupLog, TheEndAloneBelongsToASetupBefore) {
  Talk talk;
  talk.say(CmMessage::dreq);
  talk.say(CmMessage::drep, 1);
  EXPECT_EQ(talk.only().end(), SetupEnd::before);
  EXPECT_TRUE(talk.only().disconnected_by().has_value());
}

TEST(SetupLog, OfAServiceTheStatusIsTheReason) {
  Talk talk;
  CmNote request = talk.note(CmMessage::sidr_req, 0), reply = talk.note(CmMessage::sidr_rep, 1);
  request.qpn = 0;
  reply.local_id = request.local_id;
  reply.reason = 1;
  talk.add(request);
  talk.add(request);
  talk.add(reply);
  EXPECT_EQ(talk.only().end(), SetupEnd::rejected);
  EXPECT_EQ(talk.only().requests().count, 2U);
  EXPECT_EQ(reject_text(talk.only()), "status 1, Service ID Not Supported");
}

TEST(SetupLog, IcmpMessagesOfOneKindAreOne) {
  SetupLog log;
  for (std::uint64_t frame = 1; frame <= 8; ++frame)
    log.add({.number = frame,
             .stamp = {},
             .what = IcmpNote{.sender = host(9),
                              .source = host(1),
                              .destination = host(2),
                              .type = 3,
                              .code = frame < 6 ? std::uint8_t{13} : std::uint8_t{1},
                              .qp = 0x22,
                              .psn = {}}});
  ASSERT_EQ(log.refusals().size(), 2U);
  EXPECT_EQ(log.refusals()[0].count, 5U);
  EXPECT_EQ(log.refusals()[0].last_frame, 5U);
  EXPECT_EQ(log.refusals()[1].first_frame, 6U);
}

TEST(SetupLog, AnAnsweredAddressIsAskedForAnew) {
  SetupLog log;
  const auto say = [&log](std::uint64_t frame, bool asks) {
    log.add({.number = frame,
             .stamp = {},
             .what = NeighbourNote{.asks = asks, .sender = host(1), .target = host(2)}});
  };
  say(1, true);
  say(2, false);
  for (std::uint64_t frame = 3; frame < 7; ++frame) say(frame, true);
  const auto all = log.addresses();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].count, 4U);
  EXPECT_EQ(all[0].first_frame, 3U);
  EXPECT_EQ(all[0].answers, 1U);
}

TEST(SetupLog, MemoryIsBounded) {
  SetupLog log;
  Talk talk;
  for (std::uint32_t i = 0; i < SetupLog::kMostSetups + 3; ++i) {
    CmNote request = talk.note(CmMessage::req, 0);
    request.local_id = 0x1000 + i;
    log.add({.number = i + 1, .stamp = {}, .what = request});
  }
  EXPECT_EQ(log.setups().size(), SetupLog::kMostSetups);
  EXPECT_EQ(log.beyond(), 3U);
}

TEST(SetupLog, MemoryIsBoundedWhereIdsAndQpsOfASetupChange) {
  Talk talk;
  talk.say(CmMessage::req);
  for (std::uint32_t i = 0; i < 2 * SetupLog::kMostNames; ++i) {
    CmNote reply = talk.note(CmMessage::rep, 1);
    reply.local_id = 0x1000 + i;
    reply.qpn = i;
    talk.add(reply);
  }
  EXPECT_EQ(talk.log.setups().size(), 1U);
  EXPECT_GT(talk.log.beyond(), 2 * SetupLog::kMostNames);  // IDs, and flows to the QPs
}

}  // namespace setup_log_test
}  // namespace lw::analysis
