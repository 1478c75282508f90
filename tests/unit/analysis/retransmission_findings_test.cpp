// SPDX-License-Identifier: BSD-3-Clause
// What the facts allow a retransmission to be.
#include <chrono>

#include <gtest/gtest.h>

#include "unit/analysis/judgement.h"

namespace lw::analysis {
namespace {

TEST(RetransmissionFinding, WithoutAnswersSeveralCausesAreLeft) {
  const Hypotheses of_request = {{kResent, Cause::timeout},
                                 {kResent, Cause::sequence_nak},
                                 {kResent, Cause::receiver_not_ready}};
  expect_either(judged(fact_of(kResent, Cause::timeout), {}), of_request);
  expect_either(judged(fact_of(kResent, Cause::none)), of_request);
  Fact fetch = fact_of(kResent, Cause::none);
  fetch.fetches = true;
  expect_either(
      judged(fetch),
      {{kResent, Cause::timeout}, {kResent, Cause::response_lost}, {kResent, Cause::sequence_nak}});
}

TEST(RetransmissionFinding, OfAResponseWithoutItsRequest) {
  Fact fact = fact_of(kResent, Cause::none);
  fact.seen.role = wire::Role::response;
  expect_either(judged(fact), {{kResent, Cause::request_resent}, {kResent, Cause::request_copied}});
  fact.seen.cause = Cause::path_copy;  // nothing differs from its first appearance
  expect_either(judged(fact), {{kResent, Cause::request_resent},
                               {kResent, Cause::request_copied},
                               {AnomalyKind::duplicate, Cause::path_copy}});
  fact.seen.cause = Cause::request_resent;
  expect_certain(judged(fact), Cause::request_resent);
}

TEST(RetransmissionFinding, AfterTheLastAnswerThePeerHasStoppedOrThePathIsCut) {
  ConnectionFacts connection = answered();
  connection.stopped = Instant{milliseconds{5}};
  Fact fact = fact_of(kResent, Cause::timeout);
  fact.seen.stamp = Instant{milliseconds{6}};
  expect_either(judged(fact, connection),
                {{kResent, Cause::peer_stopped}, {kResent, Cause::timeout}});
  fact.seen.stamp = Instant{milliseconds{4}};
  expect_certain(judged(fact, connection), Cause::timeout);
}

TEST(RetransmissionFinding, ATimersLengthAfterANakItWasTheTimer) {
  ConnectionFacts connection = answered();
  connection.least_reaction = microseconds{100};
  const auto after = [](Duration asked) {
    return fact_of(kResent, Cause::sequence_nak, {.asked = asked});
  };
  expect_certain(judged(after(microseconds{16'200}), connection), Cause::sequence_nak);
  expect_certain(judged(after(microseconds{16'201}), connection), Cause::timeout);
  expect_certain(judged(after(milliseconds{32})), Cause::sequence_nak);  // no other answer to a NAK
}

TEST(RetransmissionFinding, WhoRepeatsSinglePacketsMayBeBusyAfterANak) {
  ConnectionFacts connection = answered();
  connection.least_reaction = microseconds{100};
  connection.selective = true;
  const auto after = [](Duration asked) {
    return fact_of(kResent, Cause::sequence_nak, {.asked = asked});
  };
  expect_certain(judged(after(microseconds{700}), connection), Cause::sequence_nak);
  expect_either(judged(after(microseconds{701}), connection),
                {{kResent, Cause::timeout}, {kResent, Cause::sequence_nak}});
  expect_certain(judged(after(microseconds{16'201}), connection), Cause::timeout);
}

constexpr Hypotheses kTimerOrNak = {{kResent, Cause::timeout}, {kResent, Cause::sequence_nak}};

TEST(RetransmissionFinding, FarLaterThanANakItMayHaveBeenTheTimer) {
  const Fact fact = fact_of(kResent, Cause::sequence_nak,
                            {.sent = {}, .asked = milliseconds{67}, .answered = {}});
  ConnectionFacts connection = answered();
  connection.least_reaction = milliseconds{67};
  expect_either(judged(fact, connection), kTimerOrNak);
  connection.least_rtt = milliseconds{60};
  expect_certain(judged(fact, connection), Cause::sequence_nak);
}

TEST(RetransmissionFinding, ACaptureThatLacksFramesMayLackTheNak) {
  const Fact fact = fact_of(kResent, Cause::timeout);
  CaptureFacts capture{.packets = 1000, .missing = 300, .naks = 30, .timeouts = 20};
  expect_either(judged(fact, answered(), capture), {{kResent, Cause::timeout},
                                                    {kResent, Cause::sequence_nak},
                                                    {kResent, Cause::receiver_not_ready}});
  capture.missing = 10;
  capture.timeouts = 30;
  expect_certain(judged(fact, answered(), capture), Cause::timeout);
}

TEST(RetransmissionFinding, TheNakMayHaveComeBeforeTheCapture) {
  Fact fact = fact_of(kResent, Cause::timeout);
  fact.early = fact.inside = true;
  ConnectionFacts connection = answered();
  expect_certain(judged(fact, connection), Cause::timeout);
  constexpr Hypotheses any = {{kResent, Cause::timeout},
                              {kResent, Cause::sequence_nak},
                              {kResent, Cause::receiver_not_ready}};
  connection.began_before = true;
  expect_either(judged(fact, connection), any);
  // It begins with a packet below the first one of the capture.
  connection.began_before = fact.inside = false;
  expect_either(judged(fact, connection), any);
  connection.began_before = fact.inside = true;
  fact.waits.sent = kShortestTimer;  // its NAK would be in the capture
  expect_certain(judged(fact, connection), Cause::timeout);
}

TEST(RetransmissionFinding, FarLaterThanAfterOtherNaksItMayBeTheTimer) {
  ConnectionFacts connection = answered();
  connection.goes_back = true;
  connection.host_reactions = {.count = 3, .least = microseconds{16}};
  const auto after = [](Duration asked) {
    return fact_of(kResent, Cause::sequence_nak, {.asked = asked});
  };
  const Hypotheses either = {{kResent, Cause::timeout}, {kResent, Cause::sequence_nak}};
  expect_either(judged(after(microseconds{500}), connection), either);
  expect_certain(judged(after(microseconds{499}), connection), Cause::sequence_nak);
  connection.host_reactions.least = microseconds{100};  // a timer may be no longer than it needs
  expect_certain(judged(after(microseconds{1600}), connection), Cause::sequence_nak);
  expect_either(judged(after(microseconds{1601}), connection), either);
  connection.host_reactions.count = 2;
  expect_certain(judged(after(microseconds{1601}), connection), Cause::sequence_nak);
}

TEST(RetransmissionFinding, ALateResponseWasNotLost) {
  Fact fact = fact_of(kResent, Cause::response_lost);
  fact.late = true;
  expect_certain(judged(fact), Cause::reordered);
}

TEST(RetransmissionFinding, SoonerThanAnyAnswerTheTimerIsTooShort) {
  ConnectionFacts connection = answered();
  connection.least_rtt = milliseconds{5};
  const auto after = [](Duration sent) { return fact_of(kResent, Cause::timeout, {.sent = sent}); };
  expect_certain(judged(after(microseconds{4100}), connection), Cause::timer_too_short);
  expect_certain(judged(after(milliseconds{5}), connection), Cause::timeout);
  expect_certain(judged(after(microseconds{499}), connection), Cause::timeout);  // no timer
}

TEST(RetransmissionFinding, IfAllIsAnsweredTheTimerIsTooShort) {
  ConnectionFacts connection = answered();
  connection.all_answered = true;
  expect_certain(judged(fact_of(kResent, Cause::timeout, {.sent = milliseconds{4}}), connection),
                 Cause::timeout);
  connection.all_repeated = true;
  expect_certain(judged(fact_of(kResent, Cause::timeout, {.sent = milliseconds{4}}), connection),
                 Cause::timer_too_short);
}

TEST(RetransmissionFinding, ATimerFarLongerThanTheRoundTripIsNotTooShort) {
  ConnectionFacts connection = answered();
  connection.all_answered = connection.all_repeated = true;
  connection.least_rtt = milliseconds{1};
  const auto after = [](Duration sent) { return fact_of(kResent, Cause::timeout, {.sent = sent}); };
  expect_certain(judged(after(microseconds{3999}), connection), Cause::timer_too_short);
  expect_certain(judged(after(milliseconds{4}), connection), Cause::timeout);
}

TEST(RetransmissionFinding, AnAnswerThatPassedHereTakesTimeToTheSender) {
  ConnectionFacts connection = answered();
  const Fact fact =
      fact_of(kResent, Cause::ack_lost, {.sent = milliseconds{4}, .answered = milliseconds{3}});
  connection.round_trip = milliseconds{3};
  expect_certain(judged(fact, connection), Cause::ack_lost);
  connection.round_trip = microseconds{3001};
  expect_certain(judged(fact, connection), Cause::timer_too_short);
}

TEST(RetransmissionFinding, OfAnUnknownDistanceTheTimerMayBeTooShort) {
  ConnectionFacts connection = answered();
  const Fact fact =
      fact_of(kResent, Cause::ack_lost, {.sent = milliseconds{4}, .answered = milliseconds{3}});
  expect_either(judged(fact, connection),
                {{kResent, Cause::ack_lost}, {kResent, Cause::timer_too_short}});
  connection.longest_quiet = microseconds{3999};
  EXPECT_EQ(judged(fact, connection).certainty, Certainty::either);
  connection.longest_quiet = milliseconds{4};  // the sender waited as long, and was answered
  expect_certain(judged(fact, connection), Cause::ack_lost);
}

TEST(RetransmissionFinding, WhatWasAnsweredHereMayNotHaveBeenHeard) {
  ConnectionFacts connection = answered();
  connection.all_answered = true;
  connection.longest_quiet = milliseconds{4};
  const Fact fact =
      fact_of(kResent, Cause::ack_lost, {.sent = milliseconds{4}, .answered = milliseconds{4}});
  expect_certain(judged(fact, connection), Cause::ack_lost);
  connection.all_repeated = true;
  expect_either(judged(fact, connection),
                {{kResent, Cause::timer_too_short}, {kResent, Cause::ack_lost}});
}

TEST(RetransmissionFinding, AReadMayBeRepeatedThoughItsResponseCame) {
  ConnectionFacts connection = answered();
  connection.all_answered = connection.all_repeated = true;
  expect_either(
      judged(fact_of(kResent, Cause::response_lost, {.sent = milliseconds{4}}), connection),
      {{kResent, Cause::timer_too_short}, {kResent, Cause::response_lost}});
  const Waits after_gap = {.sent = milliseconds{4}, .asked = milliseconds{1}};
  expect_certain(judged(fact_of(kResent, Cause::response_lost, after_gap), connection),
                 Cause::response_lost);
}

}  // namespace
}  // namespace lw::analysis
