// SPDX-License-Identifier: BSD-3-Clause
// Responses that come again, without the requests that they answer.
#include "analysis/requests/repeated_responses.h"

#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/requests/lone_responses.h"

namespace lw::analysis {
namespace {

using std::chrono::microseconds;
using wire::Operation;
using wire::Position;

struct Response {
  std::uint32_t psn = 0;
  Position position = Position::only;
  int at = 0;  // us
  std::uint16_t ip_id = 0;
  std::uint32_t msn = 0;
  bool is_ack = false;
};

const wire::OpcodeInfo* info_of(Position position) {
  return wire::find_opcode(
      *wire::opcode_of(wire::Transport::rc, Operation::read_response, position));
}

/// What is said of responses in this order.
std::vector<Anomaly> said(const std::vector<Response>& responses) {
  FindingLog log;
  StreamCounts counts;
  const AnswerTimes answers(counts, std::nullopt);
  StreamReport report(1, 0, counts, answers, log);
  LoneResponses lone(report, counts);
  std::uint64_t number = 0;
  for (const Response& one : responses) {
    const CapturedPacket packet{.number = ++number,
                                .stamp = Instant{microseconds{one.at}},
                                .info = info_of(one.position),
                                .psn = one.psn,
                                .msn = one.msn,
                                .ip_id = one.ip_id,
                                .has_aeth = one.position != Position::middle};
    one.is_ack ? lone.take_ack(packet) : lone.note(packet);
  }
  lone.finish();
  std::vector<Anomaly> found;
  for (const Fact& fact : log.facts()) found.push_back(fact.seen);
  return found;
}

void expect_again(const std::vector<Anomaly>& found, std::uint64_t frame, std::uint64_t packets,
                  Cause cause) {
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, AnomalyKind::retransmission);
  EXPECT_EQ(found[0].role, wire::Role::response);
  EXPECT_EQ(found[0].frame, frame);
  EXPECT_EQ(found[0].packets, packets);
  EXPECT_EQ(found[0].last_frame, frame + packets - 1);
  EXPECT_EQ(found[0].cause, cause);
}

/// Answers of three packets to a READ, and of one to the next READ.
std::vector<Response> two_answers() {
  return {{10, Position::first, 0},
          {11, Position::middle, 1},
          {12, Position::last, 2},
          {13, Position::only, 3}};
}

/// two_answers(), and further responses.
std::vector<Response> with(const std::vector<Response>& more) {
  std::vector<Response> all = two_answers();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(RepeatedResponses, OneMayBeACopyOrSentAgain) {
  const auto found = said(with({{13, Position::only, 9}}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, AnomalyKind::duplicate);
  EXPECT_EQ(found[0].cause, Cause::none);
  EXPECT_EQ(found[0].related_frame, 4U);
  EXPECT_EQ(said(with({{12, Position::last, 9}, {13, Position::only, 10}})).size(), 2U);
}

TEST(RepeatedResponses, OneBehindAcksThatCameAgainIsToARepeatedRequest) {
  const auto acks = [](std::uint32_t psn, std::uint32_t second) {
    const Response ack{.psn = psn, .msn = 9, .is_ack = true};
    const Response other{.psn = second, .msn = 9, .is_ack = true};
    return said(with({ack, other, ack, {13, Position::only, 9, 0, 1}}));
  };
  expect_again(acks(20, 20), 8, 1, Cause::request_resent);
  expect_again(acks(20, 19), 8, 1, Cause::none);  // the path copies an ACK as well
}

TEST(RepeatedResponses, AWholeAnswerWasSentAgain) {
  const auto answer =
      with({{10, Position::first, 9}, {11, Position::middle, 10}, {12, Position::last, 11}});
  expect_again(said(answer), 5, 3, Cause::none);  // its request may have been copied
}

TEST(RepeatedResponses, AnswersToSeveralRequestsAreToRepeatedOnes) {
  auto found = said(with({{11, Position::middle, 9},
                          {12, Position::last, 10},
                          {13, Position::only, 11},
                          {14, Position::only, 12}}));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].kind, AnomalyKind::psn_gap);
  EXPECT_EQ(psn_of(found[1].psn), 10U);  // no answer begins with a middle packet
  found.pop_back();
  expect_again(found, 5, 3, Cause::none);  // one answer begins in it
  expect_again(said(with({{10, Position::first, 9},
                          {11, Position::middle, 10},
                          {12, Position::last, 11},
                          {13, Position::only, 12}})),
               5, 4, Cause::request_resent);
}

TEST(RepeatedResponses, ARepeatedReadMayAskForTheRest) {
  expect_again(said(with({{11, Position::first, 9}, {12, Position::last, 10}})), 5, 2,
               Cause::request_resent);
}

TEST(RepeatedResponses, ThePathKeepsNoCopyAsLongAsATimerRuns) {
  expect_again(said(with({{13, Position::only, 503}})), 5, 1, Cause::request_resent);
  EXPECT_EQ(said(with({{13, Position::only, 502}}))[0].kind, AnomalyKind::duplicate);
}

TEST(RepeatedResponses, AnotherMsnShowsThatItWasSentAgain) {
  expect_again(said(with({{13, Position::only, 9, 0, 1}})), 5, 1, Cause::none);
}

TEST(RepeatedResponses, IpNumbersTellACopy) {
  std::vector<Response> all = two_answers();
  for (std::size_t i = 0; i < all.size(); ++i) all[i].ip_id = static_cast<std::uint16_t>(i);
  all.push_back({13, Position::only, 9, 3});
  EXPECT_EQ(said(all)[0].cause, Cause::path_copy);
  all.back().ip_id = 4;
  expect_again(said(all), 5, 1, Cause::none);
}

TEST(RepeatedResponses, ACopyWithinAnAnswerSkipsNothing) {
  const auto found = said(with({{14, Position::first, 9},
                                {15, Position::middle, 10},
                                {11, Position::middle, 11},
                                {16, Position::last, 12}}));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].kind, AnomalyKind::duplicate);
}

}  // namespace
}  // namespace lw::analysis
