// SPDX-License-Identifier: BSD-3-Clause
// What the facts allow, row by row of the tables of gaps, late packets, copies and stalls.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/findings/finding_log.h"
#include "unit/analysis/judgement.h"

namespace lw::analysis {
namespace {

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

TEST(GapFinding, WhereMostPacketsComeLateARecoveryMayHaveBeenNone) {
  constexpr Hypothesis kLost = {kGap, Cause::lost_before_capture};
  constexpr Hypothesis kLate = {AnomalyKind::out_of_order, Cause::none};
  ConnectionFacts connection = answered();
  connection.disorder = {.late = Disorder::kEnough, .lost = 1};
  Fact fact = fact_of(kGap, Cause::lost_before_capture);
  expect_either(judged(fact, connection), {kLost, kLate});
  fact.again = true;
  expect_either(judged(fact, connection), {kLost, kLate, {kGap, Cause::not_sent}});
  connection.answered = false;
  fact.sent = true;  // as a later recovery shows, which may be none either
  expect_either(judged(fact, connection), {kLost, kLate, {kGap, Cause::not_sent}});
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

TEST(LateFinding, AResponseThatSeveralRequestsAskedForMayBelongToAnotherAnswer) {
  Fact fact = fact_of(AnomalyKind::out_of_order, Cause::none);
  fact.seen.role = wire::Role::response;
  fact.seen.related_frame = 7;
  expect_certain(judged(fact), Cause::none);
  fact.again = true;
  expect_either(judged(fact),
                {{AnomalyKind::out_of_order, Cause::none}, {kResent, Cause::request_resent}});
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
  EXPECT_EQ(judged(fact, connection).certainty, Certainty::either);  // its times may vary
  connection.steady_rtt = true;
  const Anomaly overtaken = judged(fact, connection);
  expect_certain(overtaken, Cause::reordered_behind);
  EXPECT_EQ(overtaken.kind, AnomalyKind::out_of_order);
  fact.waits.answered = microseconds{20};
  expect_certain(judged(fact, connection), Cause::lost_behind);
}

TEST(DuplicateFinding, WithoutAnswersOnlyIpNumbersTell) {
  Fact fact = fact_of(AnomalyKind::duplicate, Cause::path_copy);
  fact.unasked = true;
  expect_certain(judged(fact), Cause::path_copy);
  expect_either(judged(fact, {}),
                {{kResent, Cause::none}, {AnomalyKind::duplicate, Cause::path_copy}});
  ConnectionFacts connection;
  connection.ip_numbers_vary = true;
  expect_certain(judged(fact, connection), Cause::path_copy);
}

TEST(DuplicateFinding, ARequestWhoseResponseHasPassedMayBeSentAgain) {
  Fact fact = fact_of(AnomalyKind::duplicate, Cause::path_copy, {.answered = microseconds{50}});
  fact.unasked = true;
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

TEST(DuplicateFinding, WhereThePathCopiesNothingItIsLateOrWasSentAgain) {
  const Hypotheses both = {{AnomalyKind::duplicate, Cause::path_copy},
                           {kResent, Cause::response_lost}};
  Fact fact = fact_of(AnomalyKind::duplicate, Cause::path_copy);
  expect_either(judged(fact), both);
  const auto kind_in = [&fact](const CaptureFacts& capture) {
    const Anomaly found = judged(fact, answered(), capture);
    EXPECT_EQ(found.certainty, Certainty::certain);
    return found.kind;
  };
  EXPECT_EQ(kind_in({.late = 3}), AnomalyKind::out_of_order);
  EXPECT_EQ(kind_in({.late = 2, .response_recoveries = 3}), kResent);
  // A fourth of the copies are sure.
  EXPECT_EQ(kind_in({.copies = 8, .unasked_copies = 2, .late = 3}), AnomalyKind::duplicate);
  EXPECT_EQ(kind_in({.copies = 9, .unasked_copies = 2, .late = 3}), AnomalyKind::out_of_order);
  fact.fetches = true;  // its response may be missing
  EXPECT_EQ(kind_in({.late = 3, .response_recoveries = 3}), kResent);
  expect_either(judged(fact, answered(), {.late = 3, .response_recoveries = 2}), both);
  ConnectionFacts varying = answered();
  varying.ip_numbers_vary = true;
  expect_certain(judged(fact, varying, {.late = 3, .response_recoveries = 3}), Cause::path_copy);
}

TEST(DuplicateFinding, WhereResponsesComeLateOneThatCameBeforeMayBeLate) {
  Fact fact = fact_of(AnomalyKind::duplicate, Cause::path_copy);
  fact.seen.role = wire::Role::response;
  ConnectionFacts connection = answered();
  connection.ip_numbers_vary = true;  // those of requests
  expect_certain(judged(fact, connection), Cause::path_copy);
  connection.response_disorder.late = Disorder::kEnough;
  expect_either(judged(fact, connection), {{AnomalyKind::duplicate, Cause::path_copy},
                                           {AnomalyKind::out_of_order, Cause::none}});
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
  log.mark();
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
  log.mark();
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
  log.mark();
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
  log.mark();
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
    log.mark();
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
  log.mark();
  EXPECT_TRUE(log.facts()[0].passed);
  EXPECT_FALSE(log.facts()[1].passed);
}

}  // namespace
}  // namespace lw::analysis
