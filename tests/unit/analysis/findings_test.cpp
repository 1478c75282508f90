// SPDX-License-Identifier: BSD-3-Clause
// What the facts allow, row by row of each kind's table.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/findings/classify.h"
#include "analysis/findings/finding_log.h"
#include "analysis/findings/recovery_votes.h"
#include "analysis/findings/repeated_runs.h"

namespace lw::analysis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
constexpr auto kGap = AnomalyKind::psn_gap;
constexpr auto kResent = AnomalyKind::retransmission;

Fact fact_of(AnomalyKind kind, Cause cause, const Waits& waits = {}) {
  Fact fact;
  fact.seen.kind = kind;
  fact.seen.cause = cause;
  fact.waits = waits;
  return fact;
}

/// A connection with answers, of which nothing else is known.
ConnectionFacts answered() { return {.answered = true}; }

Anomaly judged(const Fact& fact, const ConnectionFacts& connection = answered(),
               const CaptureFacts& capture = {}) {
  return classify(fact, connection, capture).value_or(Anomaly{});
}

void expect_certain(const Anomaly& found, Cause cause) {
  EXPECT_EQ(found.certainty, Certainty::certain);
  EXPECT_EQ(found.cause, cause);
  EXPECT_TRUE(found.alternatives.empty());
}

void expect_either(const Anomaly& found, const Hypotheses& alternatives) {
  EXPECT_EQ(found.certainty, Certainty::either);
  EXPECT_EQ(found.alternatives, alternatives);
  EXPECT_EQ(found.cause, alternatives.begin()->cause);
}

constexpr Hypotheses kLostOrMissing = {{kGap, Cause::lost_before_capture},
                                       {kGap, Cause::missing_in_capture}};

TEST(GapFinding, LossBeforeTheCaptureIsCertainInACompleteCapture) {
  expect_certain(judged(fact_of(kGap, Cause::lost_before_capture)), Cause::lost_before_capture);
}

TEST(GapFinding, NothingThatAcknowledgesLeavesTwo) {
  expect_either(judged(fact_of(kGap, Cause::none)), kLostOrMissing);
}

TEST(GapFinding, AnIncompleteCaptureLeavesTwo) {
  const CaptureFacts capture{.packets = 10'000, .missing = 11};
  ConnectionFacts connection = answered();
  connection.resent = {.gaps = 10, .packets = 1000};  // 1.1 of these 10 may be missing
  expect_either(judged(fact_of(kGap, Cause::lost_before_capture), connection, capture),
                kLostOrMissing);
  expect_certain(judged(fact_of(kGap, Cause::missing_in_capture), connection, capture),
                 Cause::missing_in_capture);
}

TEST(GapFinding, MoreGapsThanTheCaptureMissesAreLosses) {
  const CaptureFacts capture{.packets = 10'000, .missing = 100};
  ConnectionFacts connection = answered();
  connection.resent = {.gaps = 20, .packets = 100};  // 1 of these 20 may be missing
  expect_certain(judged(fact_of(kGap, Cause::lost_before_capture), connection, capture),
                 Cause::lost_before_capture);
}

TEST(GapFinding, NobodyAskedForWhatARecoveryRepeats) {
  CaptureFacts capture{.packets = 1'000, .missing = 1};
  ConnectionFacts connection = answered();
  connection.resent = {.gaps = 11, .packets = 1'100};
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  expect_either(judged(fact, connection, capture), kLostOrMissing);
  fact.asked = true;
  expect_certain(judged(fact, connection, capture), Cause::lost_before_capture);
  capture.missing = 0;
  fact.asked = false;
  expect_certain(judged(fact, connection, capture), Cause::lost_before_capture);
}

TEST(GapFinding, TheReceiverMissesWhatItAsksFor) {
  const CaptureFacts capture{.packets = 10'000, .missing = 100};
  ConnectionFacts connection = answered();
  connection.resent = {.gaps = 1, .packets = 1000};
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.asked = true;
  // The path loses packets behind this point: the capture may have missed one of them.
  connection.asked = {.gaps = 1, .packets = 10};
  expect_either(judged(fact, connection, capture), kLostOrMissing);
  connection.asked = {.gaps = 10, .packets = 10};
  expect_certain(judged(fact, connection, capture), Cause::lost_before_capture);
}

TEST(GapFinding, OfResponsesOnlyTheFirstIsAskedFor) {
  const CaptureFacts capture{.packets = 10'000, .missing = 100};
  ConnectionFacts connection = answered();
  connection.responses = {.gaps = 10, .packets = 10};
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.seen.role = wire::Role::response;
  expect_either(judged(fact, connection, capture), kLostOrMissing);
  fact.asked = true;
  expect_certain(judged(fact, connection, capture), Cause::lost_before_capture);
}

TEST(GapFinding, WithoutAnswersASkippedRepetitionMayNotHaveBeenSent) {
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.again = true;
  expect_either(judged(fact, {}), {{kGap, Cause::lost_before_capture}, {kGap, Cause::not_sent}});
  expect_certain(judged(fact), Cause::lost_before_capture);
}

TEST(GapFinding, IpNumbersShowWhetherASkippedRepetitionWasSent) {
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.again = true;
  fact.sent = true;
  expect_certain(judged(fact, {}), Cause::lost_before_capture);
  fact.sent = false;
  EXPECT_FALSE(classify(fact, {}, {}));
}

TEST(GapFinding, WhatPassedDamagedWasSent) {
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.again = true;
  fact.damaged = true;
  expect_certain(judged(fact, {}), Cause::lost_before_capture);
  fact.again = false;
  const CaptureFacts capture{.packets = 10'000, .missing = 11};
  ConnectionFacts connection = answered();
  connection.resent = {.gaps = 10, .packets = 1000};  // the capture may lack some of them
  expect_certain(judged(fact, connection, capture), Cause::lost_before_capture);
}

/// A fact of the first round trip of a capture that began within its connection.
Fact early(AnomalyKind kind, Cause cause) {
  Fact fact = fact_of(kind, cause);
  fact.early = true;
  return fact;
}

ConnectionFacts joined() {
  ConnectionFacts connection = answered();
  connection.joined = connection.began_before = true;
  connection.first_answer = 1;
  return connection;
}

TEST(GapFinding, AtTheBeginItMayHaveBeenSentBefore) {
  const Fact fact = early(kGap, Cause::lost_before_capture);
  expect_either(judged(fact, joined()),
                {{kGap, Cause::lost_before_capture}, {kGap, Cause::not_sent}});
  expect_either(judged(fact, joined(), {.packets = 10'000, .missing = 11}),
                {{kGap, Cause::lost_before_capture},
                 {kGap, Cause::missing_in_capture},
                 {kGap, Cause::not_sent}});
  expect_certain(judged(fact), Cause::lost_before_capture);  // the connection begins here
  expect_certain(judged(fact_of(kGap, Cause::lost_before_capture), joined()),
                 Cause::lost_before_capture);
}

TEST(GapFinding, WhatIsAcknowledgedAtTheBeginWasSentBefore) {
  const Fact fact = early(kGap, Cause::missing_in_capture);
  EXPECT_FALSE(classify(fact, joined(), {}));
  EXPECT_EQ(judged(fact, joined(), {.packets = 10'000, .missing = 11}).certainty,
            Certainty::either);
  expect_certain(judged(fact), Cause::missing_in_capture);  // the connection begins here
}

TEST(GapFinding, BetweenTwoPacketsInARowItWasSentHere) {
  Fact fact = early(kGap, Cause::lost_before_capture);
  fact.inside = true;
  fact.in_row = true;
  expect_certain(judged(fact, joined()), Cause::lost_before_capture);
  fact.inside = false;
  EXPECT_EQ(judged(fact, joined()).certainty, Certainty::either);
}

TEST(GapFinding, WhatIsAcknowledgedBeforeItComesAgainWasTaken) {
  const CaptureFacts capture{.packets = 10'000, .missing = 11};
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.taken = true;
  expect_certain(judged(fact, answered(), capture), Cause::missing_in_capture);
  expect_certain(judged(fact), Cause::lost_before_capture);  // a complete capture misses none
}

TEST(GapFinding, ASenderThatGoesBackRepeatsAll) {
  Fact fact = early(kGap, Cause::lost_before_capture);
  fact.inside = true;
  ConnectionFacts connection = joined();
  expect_either(judged(fact, connection),
                {{kGap, Cause::lost_before_capture}, {kGap, Cause::not_sent}});
  connection.goes_back = true;
  expect_certain(judged(fact, connection), Cause::lost_before_capture);
}

TEST(GapFinding, NoResponseIsMissingSoonerThanItCanCome) {
  Fact fact = early(kGap, Cause::lost_before_capture);
  fact.seen.role = wire::Role::response;
  ConnectionFacts connection = joined();
  connection.least_rtt = microseconds{100};
  fact.waits.sent = microseconds{99};
  EXPECT_FALSE(classify(fact, connection, {}));
  const Hypotheses lost_or_not_sent = {{kGap, Cause::lost_before_capture}, {kGap, Cause::not_sent}};
  fact.waits.sent = microseconds{100};
  expect_either(judged(fact, connection), lost_or_not_sent);
  fact.waits.sent = microseconds{99};
  connection.joined = connection.began_before = false;
  expect_certain(judged(fact, connection), Cause::lost_before_capture);
}

TEST(GapFinding, TheBeginOfARecoveryWasLostIfItIsRepeatedLater) {
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.again = fact.begins = true;
  EXPECT_FALSE(classify(fact, {}, {}));
  fact.sent = true;
  expect_certain(judged(fact, {}), Cause::lost_before_capture);
}

TEST(GapFinding, WhatFillsAGapIsLateIfItsSenderGoesBack) {
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  fact.filled = 7;
  expect_either(judged(fact, {}),
                {{kGap, Cause::lost_before_capture}, {AnomalyKind::out_of_order, Cause::none}});
  EXPECT_FALSE(classify(fact, {.goes_back = true}, {}));
  fact.overtaken = true;
  EXPECT_FALSE(classify(fact, {}, {}));
}

TEST(GapFinding, WhatWasSkippedWithPacketsThatArrivedWasSentBefore) {
  Fact fact = early(kGap, Cause::lost_before_capture);
  fact.passed = true;
  EXPECT_FALSE(classify(fact, joined(), {}));
  EXPECT_EQ(judged(fact, joined(), {.packets = 10'000, .missing = 11}).certainty,
            Certainty::either);
}

TEST(GapFinding, BeforeTheFirstAnswerOthersMayHavePassed) {
  Fact fact = early(kGap, Cause::lost_before_capture);
  fact.seen.role = wire::Role::response;
  fact.seen.frame = 5;
  ConnectionFacts connection = joined();
  connection.first_answer = 5;
  EXPECT_FALSE(classify(fact, connection, {}));
  connection.first_answer = 4;
  EXPECT_EQ(judged(fact, connection).certainty, Certainty::either);
}

TEST(LateFinding, WithoutAnswersWhatTheSenderDoesTells) {
  Fact fact = fact_of(AnomalyKind::out_of_order, Cause::none);
  EXPECT_EQ(judged(fact, {}).kind, kResent);
  EXPECT_EQ(judged(fact, {.goes_back = true}).kind, AnomalyKind::out_of_order);
  fact.overtaken = true;
  EXPECT_EQ(judged(fact, {}).kind, AnomalyKind::out_of_order);
}

TEST(LateFinding, OfResponsesOnlyTheFirstOneOfTheCaptureSkipsThoseBeforeIt) {
  Fact fact = early(AnomalyKind::out_of_order, Cause::none);
  fact.seen.role = wire::Role::response;
  fact.seen.related_frame = 5;
  ConnectionFacts connection = joined();
  connection.first_answer = 5;
  EXPECT_EQ(judged(fact, connection).kind, kResent);
  connection.first_answer = 4;
  EXPECT_EQ(judged(fact, connection).kind, AnomalyKind::out_of_order);
}

TEST(LateFinding, AtTheBeginItMayBeSentAgain) {
  const Fact fact = early(AnomalyKind::out_of_order, Cause::none);
  const Anomaly found = judged(fact, joined());
  expect_either(found, {{kResent, Cause::none}, {AnomalyKind::out_of_order, Cause::none}});
  EXPECT_EQ(found.kind, kResent);
  EXPECT_EQ(judged(fact).kind, AnomalyKind::out_of_order);
  ConnectionFacts connection = joined();
  connection.goes_back = true;
  EXPECT_EQ(judged(fact, connection).certainty, Certainty::either);
  connection.ip_numbers_ordered = true;
  EXPECT_EQ(judged(fact, connection).certainty, Certainty::certain);
  EXPECT_EQ(judged(fact_of(AnomalyKind::out_of_order, Cause::none), joined()).kind,
            AnomalyKind::out_of_order);
}

TEST(CaptureFacts, OneInAThousandIsComplete) {
  EXPECT_FALSE((CaptureFacts{.packets = 10'000, .missing = 10}).is_incomplete());
  EXPECT_TRUE((CaptureFacts{.packets = 10'000, .missing = 11}).is_incomplete());
  EXPECT_FALSE((CaptureFacts{.packets = 10, .missing = 2}).is_incomplete());
}

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

TEST(LostBehindFinding, AfterASecondTransmissionItMayBeTheFirstOne) {
  Fact fact = fact_of(AnomalyKind::lost_after_capture, Cause::lost_behind);
  expect_certain(judged(fact), Cause::lost_behind);
  fact.again = true;
  expect_either(judged(fact), {{AnomalyKind::lost_after_capture, Cause::lost_behind},
                               {AnomalyKind::out_of_order, Cause::reordered_behind}});
}

TEST(LostBehindFinding, AcknowledgedSoonerThanARepetitionItWasOvertaken) {
  ConnectionFacts connection = answered();
  connection.least_rtt = microseconds{40};
  Fact fact = fact_of(AnomalyKind::lost_after_capture, Cause::lost_behind);
  fact.waits.answered = microseconds{19};
  expect_certain(judged(fact, connection), Cause::lost_behind);  // a receiver may keep packets
  connection.goes_back = true;
  const Anomaly overtaken = judged(fact, connection);
  expect_certain(overtaken, Cause::reordered_behind);
  EXPECT_EQ(overtaken.kind, AnomalyKind::out_of_order);
  fact.waits.answered = microseconds{20};
  expect_certain(judged(fact, connection), Cause::lost_behind);
}

TEST(RetransmissionFinding, AfterTheLastAnswerThePeerHasStopped) {
  ConnectionFacts connection = answered();
  connection.stopped = Instant{milliseconds{5}};
  Fact fact = fact_of(kResent, Cause::timeout);
  fact.seen.stamp = Instant{milliseconds{6}};
  expect_certain(judged(fact, connection), Cause::peer_stopped);
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

TEST(DuplicateFinding, WithoutAnswersOnlyIpNumbersTell) {
  const Fact fact = fact_of(AnomalyKind::duplicate, Cause::path_copy);
  expect_certain(judged(fact), Cause::path_copy);
  expect_either(judged(fact, {}),
                {{kResent, Cause::none}, {AnomalyKind::duplicate, Cause::path_copy}});
  ConnectionFacts connection;
  connection.ip_numbers_vary = true;
  expect_certain(judged(fact, connection), Cause::path_copy);
}

TEST(DuplicateFinding, ARequestWhoseResponseHasPassedMayBeSentAgain) {
  Fact fact = fact_of(AnomalyKind::duplicate, Cause::path_copy, {.answered = microseconds{50}});
  ConnectionFacts connection = answered();
  const Hypotheses both = {{AnomalyKind::duplicate, Cause::path_copy},
                           {kResent, Cause::response_lost}};
  expect_either(judged(fact, connection), both);
  connection.round_trip = microseconds{50};  // to the requester and back
  expect_either(judged(fact, connection), both);
  connection.round_trip = microseconds{51};
  expect_certain(judged(fact, connection), Cause::path_copy);
  connection.round_trip.reset();
  connection.ip_numbers_vary = true;
  expect_certain(judged(fact, connection), Cause::path_copy);
  fact.waits.answered.reset();
  expect_certain(judged(fact, answered()), Cause::path_copy);
}

TEST(DuplicateFinding, AResponseWithoutItsRequestMayAnswerAnotherOne) {
  Fact fact = fact_of(AnomalyKind::duplicate, Cause::none);
  fact.seen.role = wire::Role::response;
  expect_either(judged(fact), {{AnomalyKind::duplicate, Cause::path_copy}, {kResent, Cause::none}});
  fact.seen.cause = Cause::path_copy;
  expect_certain(judged(fact), Cause::path_copy);
}

TEST(StallFinding, AUsualRoundTripIsNone) {
  Fact fact = fact_of(AnomalyKind::stall, Cause::none);
  fact.seen.duration = milliseconds{40};
  ConnectionFacts connection = answered();
  connection.least_rtt = milliseconds{40};
  EXPECT_FALSE(classify(fact, connection, {}));
  connection.least_rtt = milliseconds{20};
  EXPECT_TRUE(classify(fact, connection, {}));
}

TEST(StallFinding, WithoutARoundTripAnAnswersTimeTells) {
  Fact fact = fact_of(AnomalyKind::stall, Cause::none);
  fact.seen.duration = milliseconds{16};
  ConnectionFacts connection = answered();
  connection.least_answer = milliseconds{40};
  EXPECT_FALSE(classify(fact, connection, {}));
}

TEST(FindingLog, ARetransmissionForALateResponseIsMarked) {
  FindingLog log;
  for (const std::uint64_t gap : {5, 7}) {
    Anomaly late{.kind = AnomalyKind::out_of_order, .related_frame = gap};
    late.role = wire::Role::response;
    log.add(late);
    log.add(Anomaly{.kind = kResent, .cause = Cause::response_lost, .related_frame = gap});
  }
  Anomaly lost{.kind = kGap, .frame = 7};  // another packet of the gap
  lost.role = wire::Role::response;
  log.add(lost);
  log.mark_late_responses();
  EXPECT_TRUE(log.facts()[1].late);
  EXPECT_FALSE(log.facts()[3].late);
}

TEST(FindingLog, AFrameThatOnlyTheCaptureDamagedIsMarked) {
  FindingLog log;
  for (const std::uint32_t psn : {4U, 5U, 9U})
    log.add(Anomaly{.kind = AnomalyKind::bad_icrc, .session = 1, .psn = psn});
  log.add(Anomaly{.kind = AnomalyKind::bad_icrc, .session = 2, .psn = 5});
  log.add(Anomaly{
      .kind = kGap, .cause = Cause::missing_in_capture, .session = 1, .psn = 5, .packets = 4});
  log.add(Anomaly{.kind = kGap, .cause = Cause::lost_before_capture, .session = 1, .psn = 9});
  log.mark_frames_damaged_here();
  std::vector<Cause> causes;
  for (std::size_t fact = 0; fact < 4; ++fact) causes.push_back(log.facts()[fact].seen.cause);
  EXPECT_EQ(causes,
            (std::vector{Cause::none, Cause::missing_in_capture, Cause::none, Cause::none}));
}

/// Whether each gap in `gaps` was damaged before it was captured. Frames 4, 20 and 21 are damaged:
/// PSNs 7, 7 and 8 of session 1.
std::vector<bool> damaged(std::initializer_list<Fact> gaps) {
  FindingLog log;
  for (const auto& [frame, psn] : {std::pair{4U, 7U}, {20U, 7U}, {21U, 8U}})
    log.add(Anomaly{.kind = AnomalyKind::bad_icrc, .session = 1, .frame = frame, .psn = psn});
  for (const Fact& gap : gaps) log.add(gap);
  log.mark_damaged_gaps();
  std::vector<bool> marks;
  for (const Fact& fact : log.facts())
    if (fact.seen.kind == kGap) marks.push_back(fact.damaged);
  return marks;
}

Fact gap_at(std::uint64_t frame, std::uint32_t psn, std::uint64_t packets = 1,
            std::uint64_t since = 0) {
  Fact fact;
  fact.seen = {.kind = kGap, .session = 1, .frame = frame, .psn = psn, .packets = packets};
  fact.since = since;
  return fact;
}

TEST(FindingLog, AGapWhosePacketsPassedDamagedIsMarked) {
  EXPECT_EQ(damaged({gap_at(5, 7)}), std::vector{true});
  EXPECT_EQ(damaged({gap_at(4, 7)}), std::vector{false});         // it came later
  EXPECT_EQ(damaged({gap_at(22, 7, 2)}), std::vector{true});      // both packets
  EXPECT_EQ(damaged({gap_at(22, 7, 3)}), std::vector{false});     // not the third one
  EXPECT_EQ(damaged({gap_at(19, 7, 1, 4)}), std::vector{false});  // before the recovery
  EXPECT_EQ(damaged({gap_at(22, 7), gap_at(5, 7)}), (std::vector{true, true}));
  EXPECT_EQ(damaged({gap_at(5, 7), gap_at(6, 7)}), (std::vector{true, false}));  // one frame
  Fact response = gap_at(5, 7);
  response.seen.role = wire::Role::response;
  EXPECT_EQ(damaged({response}), std::vector{false});  // of the other direction
  response.seen.direction = 1;
  EXPECT_EQ(damaged({response}), std::vector{true});
}

/// PSNs, and whether they were sent, of what a recovery skipped: 100 to 109, in frame 50.
using SkippedParts = std::vector<std::pair<std::uint32_t, std::optional<bool>>>;

/// `recoveries`: frame, first PSN and packets.
SkippedParts skipped_before(std::initializer_list<std::array<std::uint32_t, 3>> recoveries) {
  FindingLog log;
  Fact gap = gap_at(50, 100, 10);
  gap.again = true;
  log.add(gap);
  for (const auto& [frame, psn, packets] : recoveries)
    log.add(Anomaly{.kind = kResent, .session = 1, .frame = frame, .psn = psn, .packets = packets});
  log.mark_gaps_sent_again();
  SkippedParts parts;
  for (const Fact& fact : log.facts())
    for (std::uint32_t i = 0; fact.seen.kind == kGap && i < fact.seen.packets; ++i)
      parts.emplace_back(fact.seen.psn + i, fact.sent);
  std::ranges::sort(parts);
  return parts;
}

/// The PSNs from `sent` on were sent.
SkippedParts sent_from(std::uint32_t sent) {
  SkippedParts parts;
  for (std::uint32_t psn = 100; psn < 110; ++psn)
    parts.emplace_back(psn, psn >= sent ? std::optional(true) : std::nullopt);
  return parts;
}

TEST(FindingLog, WhatIsRepeatedLaterWasNotAcknowledged) {
  EXPECT_EQ(skipped_before({}), sent_from(110));
  EXPECT_EQ(skipped_before({{60, 100, 5}}), sent_from(100));
  EXPECT_EQ(skipped_before({{60, 90, 5}}), sent_from(100));
  EXPECT_EQ(skipped_before({{60, 104, 5}}), sent_from(104));
  EXPECT_EQ(skipped_before({{60, 104, 5}, {70, 102, 5}}), sent_from(102));
  EXPECT_EQ(skipped_before({{70, 104, 5}, {60, 102, 5}}), sent_from(102));
  EXPECT_EQ(skipped_before({{60, 110, 5}}), sent_from(110));
  EXPECT_EQ(skipped_before({{40, 100, 5}}), sent_from(110));        // before it
  EXPECT_EQ(skipped_before({{60, 100, 1}}), sent_from(110));        // it may be a copy
  EXPECT_EQ(skipped_before({{60, 8'000'000, 5}}), sent_from(110));  // PSNs have gone round
}

TEST(FindingLog, ALatePacketBehindWhichARecoveryBeginsIsMarked) {
  const auto is_overtaken = [](std::initializer_list<std::array<std::uint32_t, 3>> recoveries) {
    FindingLog log;
    log.add(Anomaly{.kind = AnomalyKind::out_of_order,
                    .session = 1,
                    .frame = 50,
                    .last_frame = 51,
                    .psn = 0xfffffe,
                    .packets = 2});
    for (const auto& [frame, psn, packets] : recoveries)
      log.add(
          Anomaly{.kind = kResent, .session = 1, .frame = frame, .psn = psn, .packets = packets});
    log.mark_overtaken();
    return log.facts()[0].overtaken;
  };
  EXPECT_FALSE(is_overtaken({}));
  EXPECT_TRUE(is_overtaken({{60, 0, 5}}));
  EXPECT_FALSE(is_overtaken({{60, 0, 1}}));
  EXPECT_FALSE(is_overtaken({{60, 1, 5}}));
  EXPECT_FALSE(is_overtaken({{40, 0, 5}}));
  EXPECT_FALSE(is_overtaken({{60, 9, 5}, {70, 0, 5}}));  // another one came first
}

TEST(FindingLog, AGapBeforePacketsThatArrivedIsMarked) {
  FindingLog log;
  for (const std::uint32_t psn : {4U, 8U}) {
    log.add(gap_at(5, psn));
    log.facts().back().early = true;
  }
  log.add(gap_at(5, 6));
  log.facts().back().early = true;
  log.facts().back().seen.cause = Cause::missing_in_capture;
  log.mark_passed_gaps();
  EXPECT_TRUE(log.facts()[0].passed);
  EXPECT_FALSE(log.facts()[1].passed);
}

TEST(RepeatedRuns, ASenderThatGoesBackRepeatsUpToItsNewestPacket) {
  const auto scheme = [](std::initializer_list<std::array<std::uint32_t, 2>> runs) {
    RepeatedRuns repeated;
    std::uint32_t highest = 99;
    for (const auto& [first, end] : runs) {
      for (std::uint32_t psn = first; psn < end; ++psn) repeated.add(psn, psn + 1, highest);
      highest = std::max(highest, end);
      repeated.add(highest, highest + 1, highest - 1);
    }
    return repeated.scheme();
  };
  EXPECT_EQ(scheme({{90, 100}}), RecoveryScheme::unknown);  // one is none
  EXPECT_EQ(scheme({{90, 100}, {98, 101}}), RecoveryScheme::go_back_n);
  EXPECT_EQ(scheme({{90, 100}, {99, 101}}), RecoveryScheme::unknown);  // two packets
  EXPECT_EQ(scheme({{80, 88}, {80, 88}}), RecoveryScheme::go_back_n);
  EXPECT_EQ(scheme({{80, 87}, {80, 87}}), RecoveryScheme::unknown);  // not up to the newest one
  EXPECT_EQ(scheme({{80, 88}, {80, 88}, {90, 91}}), RecoveryScheme::unknown);
  EXPECT_EQ(scheme({{80, 88}, {80, 88}, {80, 88}, {80, 88}, {80, 88}, {90, 91}}),
            RecoveryScheme::go_back_n);
}

/// Adds requests with the PSNs from `first` to the one before `last`, a microsecond each from `at`
/// us on. `before`: PSN of the request before. `end`: one past the highest PSN sent before.
void add_run(RecoveryVotes& votes, std::uint32_t first, std::uint32_t last, std::uint32_t before,
             std::uint32_t end, int at) {
  for (std::uint32_t psn = first; psn != last; psn = (psn + 1) & wire::Psn::kMask)
    votes.add(psn, std::exchange(before, psn), end, Instant{microseconds{at++}});
}

TEST(RecoveryVotes, WhatFollowsTheRepeatedPacketTells) {
  RecoveryVotes votes;
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
  votes.add_nak(10, Instant{microseconds{1}});
  votes.add(10, 19, 20, Instant{microseconds{4}});
  votes.add(20, 10, 20, Instant{microseconds{5}});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{3});
}

TEST(RecoveryVotes, GoingBackOverTheEndOfPsns) {
  RecoveryVotes votes;
  votes.add_nak(0xffffff, Instant{});
  add_run(votes, 0xffffff, 3, 1, 2, 7);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{7});
}

TEST(RecoveryVotes, ALatePacketIsNoRepetition) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add(10, 19, 20, Instant{microseconds{1}});  // late
  add_run(votes, 10, 21, 10, 20, 50);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{50});
}

TEST(RecoveryVotes, WhatComesSoonerThanAnAnswerIsLate) {
  constexpr auto kSoonest = microseconds{20};
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add(10, 19, 20, Instant{microseconds{19}}, false, kSoonest);  // late
  votes.add(20, 10, 20, Instant{microseconds{30}}, false, kSoonest);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
  add_run(votes, 10, 22, 20, 21, 50);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{50});
}

TEST(RecoveryVotes, GoingBackFurtherThanTheNakWeighsMore) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add(10, 19, 20, Instant{microseconds{1}});  // late
  votes.add(20, 10, 20, Instant{microseconds{2}});
  votes.add_nak(11, Instant{microseconds{3}});
  add_run(votes, 10, 22, 20, 21, 50);  // answers the first NAK
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), std::nullopt);
}

TEST(RecoveryVotes, SeveralNaksAreOnTheirWayAndTheFirstOfAPacketIsAnswered) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add_nak(10, Instant{microseconds{20}});
  votes.add_nak(15, Instant{microseconds{40}});
  add_run(votes, 10, 21, 19, 20, 100);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{100});
}

TEST(RecoveryVotes, ARecoveryBeforeTheNakShowsNothing) {
  RecoveryVotes votes;
  votes.add(9, 19, 20, Instant{microseconds{1}});
  votes.add_nak(10, Instant{microseconds{2}});
  add_run(votes, 10, 21, 9, 20, 3);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

TEST(RecoveryVotes, ARecoveryGoesOnBehindThePacketThatANakAsksFor) {
  RecoveryVotes votes;
  add_run(votes, 10, 18, 39, 40, 1);  // by a timer
  for (std::uint32_t psn = 12; psn < 15; ++psn) {
    const int at = static_cast<int>(psn) * 100;
    const std::uint32_t next = 18 + 4 * (psn - 12);  // of the recovery
    votes.add_nak(psn, Instant{microseconds{at}});
    votes.add(psn, next - 1, 40, Instant{microseconds{at + 3}});
    // One packet may be lost before.
    add_run(votes, next + psn % 2, next + 4, psn, 40, at + 4);
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{3});
}

TEST(RecoveryVotes, AReceiverThatAsksForALaterPacketKeepsThoseBetween) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add(10, 19, 20, Instant{microseconds{5}});
  votes.add_nak(14, Instant{microseconds{20}});
  votes.add(14, 10, 20, Instant{microseconds{25}});
  votes.add(20, 14, 20, Instant{microseconds{26}});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{5});
}

TEST(RecoveryVotes, WhatComesTwiceWasLateFirst) {
  RecoveryVotes votes;
  for (std::uint32_t psn = 10; psn < 50; psn += 10) {
    const int at = static_cast<int>(psn) * 100;
    votes.add_nak(psn, Instant{microseconds{at}});
    votes.add(psn, psn + 2, psn + 3, Instant{microseconds{at + 1}});
    votes.add(psn + 3, psn, psn + 3, Instant{microseconds{at + 2}});
    if (psn > 20) votes.add(psn, psn + 3, psn + 4, Instant{microseconds{at + 60}});
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{60});  // 10 and 20 came late, and once
}

TEST(RecoveryVotes, WhatATimerRepeatsWithOthersWasAnAnswer) {
  RecoveryVotes votes;
  for (const std::uint32_t psn : {10U, 13U}) {
    votes.add_nak(psn, Instant{});
    votes.add(psn, psn + 9, psn + 10, Instant{microseconds{5}});
    votes.add(psn + 10, psn, psn + 10, Instant{microseconds{6}});
  }
  add_run(votes, 13, 19, 23, 24, 4000);
  EXPECT_EQ(votes.least_reaction(), microseconds{5});
}

TEST(RecoveryVotes, WhatIsAskedForAgainWasAnAnswer) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add(10, 19, 20, Instant{microseconds{5}});
  votes.add(20, 10, 20, Instant{microseconds{6}});
  votes.add_nak(10, Instant{microseconds{50}});  // it was lost
  votes.add(10, 20, 21, Instant{microseconds{55}});
  EXPECT_EQ(votes.least_reaction(), microseconds{5});
}

TEST(RecoveryVotes, ANakOfTheNextPacketShowsThatTheReceiverKeepsOthers) {
  RecoveryVotes votes;
  for (const std::uint32_t psn : {10U, 11U, 12U, 13U}) {
    votes.add_nak(psn, Instant{microseconds{100 * psn}});
    votes.add(psn, psn == 10 ? 19 : 30, 20, Instant{microseconds{100 * psn + 20}});
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{20});
}

TEST(RecoveryVotes, ATimerGoesBackFurtherThanASelectiveSender) {
  RecoveryVotes votes;
  for (int times = 0; times < 2; ++times) {
    votes.add_nak(10, Instant{});
    add_run(votes, 10, 21, 19, 20, 1200);
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{1200});
  votes.add_nak(30, Instant{});
  votes.add(30, 39, 40, Instant{microseconds{30}});
  votes.add(40, 30, 40, Instant{microseconds{31}});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
}

TEST(RecoveryVotes, WhatComesFarBeforeTheOthersWasLate) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add(10, 19, 20, Instant{microseconds{2}});
  add_run(votes, 11, 21, 10, 20, 270);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{270});
}

TEST(RecoveryVotes, AReadThatIsRepeatedForItsResponseShowsNothing) {
  RecoveryVotes votes;
  votes.add_nak(12, Instant{});
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    votes.add(psn, psn == 10 ? 19 : psn - 1, 20, Instant{microseconds{50}}, true);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

/// A NAK names `psn`, which the packet after it has skipped, and `psn` comes alone in `later` us.
void add_late(RecoveryVotes& votes, std::uint32_t psn, int at, int later) {
  votes.add_nak(psn, Instant{microseconds{at}}, true);
  votes.add(psn, psn + 1, psn + 2, Instant{microseconds{at + later}});
}

TEST(RecoveryVotes, ANakOfAPacketThatCameShowsThatTheReceiverDiscardsOthers) {
  RecoveryVotes votes;
  for (std::uint32_t psn = 10; psn < 90; psn += 10) {
    const int at = static_cast<int>(psn) * 100;
    add_late(votes, psn, at, 1);
    if (psn == 20) votes.add(psn + 2, psn, psn + 2, Instant{microseconds{at + 2}});
    votes.add_nak(psn + 1, Instant{microseconds{at + 3}});
    votes.add(psn + 3, psn + 2, psn + 3, Instant{microseconds{at + 4}});
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
}

TEST(RecoveryVotes, APauseEndsWhatWasSentAlone) {
  for (const auto& [pause, scheme] :
       {std::pair{600, RecoveryScheme::selective}, std::pair{6, RecoveryScheme::go_back_n}}) {
    RecoveryVotes votes;
    votes.add_nak(10, Instant{});
    votes.add(10, 19, 20, Instant{microseconds{4}});
    add_run(votes, 14, 21, 10, 20, 4 + pause);
    EXPECT_EQ(votes.scheme(), scheme) << pause;
  }
}

TEST(RecoveryVotes, WhatComesFarSoonerThanTheUsualAnswerWasLate) {
  RecoveryVotes votes;
  for (const auto& [psn, later] : {std::pair{10U, 3}, std::pair{20U, 131}, std::pair{30U, 40},
                                   std::pair{40U, 130}, std::pair{50U, 12}, std::pair{60U, 133}}) {
    votes.add_nak(psn, Instant{});
    votes.add(psn, psn + 2, psn + 3, Instant{microseconds{later}});
    votes.add(psn + 3, psn, psn + 3, Instant{microseconds{later + 1}});
  }
  EXPECT_EQ(votes.least_reaction(), microseconds{130});
}

TEST(RecoveryVotes, WhatBeginsBeforeThePacketThatANakNamesIsNoAnswer) {
  RecoveryVotes votes;
  votes.add_nak(14, Instant{});
  add_run(votes, 10, 21, 19, 20, 4);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

TEST(RecoveryVotes, ATimerIsFarLongerThanThePathToItsSender) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  add_run(votes, 10, 21, 19, 20, 1200);
  EXPECT_EQ(votes.scheme(microseconds{10}), RecoveryScheme::unknown);
  EXPECT_EQ(votes.scheme(microseconds{100}), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(microseconds{100}), microseconds{1200});
}

TEST(RecoveryVotes, TheNewestPacketShowsNothing) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{});
  votes.add(10, 10, 11, Instant{});
  votes.add(11, 10, 11, Instant{});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

}  // namespace
}  // namespace lw::analysis
