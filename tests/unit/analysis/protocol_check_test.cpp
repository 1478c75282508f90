// SPDX-License-Identifier: BSD-3-Clause
// Findings that are right pass the protocol check; those that a mutation makes wrong do not. The
// connections are drawn at random, and so are the findings that are changed.
#include "analysis/check/protocol_check.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "unit/analysis/judgement.h"
#include "wire/opcode.h"

namespace lw::analysis {
namespace {

using Random = std::mt19937;

std::uint32_t draw(Random& random, std::uint32_t least, std::uint32_t most) {
  return std::uniform_int_distribution<std::uint32_t>(least, most)(random);
}

/// A requester that goes back, its responder, and what is right to say about them.
class Talk {
 public:
  explicit Talk(Random& random) : random_(random), next_(draw(random, 0, 0xFFFFFF)) {
    request(next_++);
    ack(next_ - 1);
    for (int event = 0; event < 12; ++event) add_event(draw(random, 0, 8));
    stop();
    log.finish();
  }

  std::uint32_t room = 100'000;
  PassageLog log{room};
  std::vector<Anomaly> findings;
  std::vector<std::uint64_t> acks;  // frames

 private:
  static constexpr std::uint8_t kWrite = 0x0A, kRead = 0x0C, kAck = 0x11;
  static constexpr std::uint8_t kGood = 0x1F, kNotReady = 0x21, kSequence = 0x60;

  void add_event(std::uint32_t event) {
    switch (event) {
      case 0:
        return lose_before();
      case 1:
        return lose_behind();
      case 2:
        return lose_by_timer();
      case 3:
        return refuse();
      case 4:
        return copy();
      case 5:
        return overtake();
      case 6:
        return lose_ack();
      case 7:
        return lose_response();
      default:
        return miss_in_capture();
    }
  }

  CapturedPacket packet(std::uint8_t opcode, std::uint32_t psn) {
    CapturedPacket made;
    made.number = ++frame_;
    made.stamp = stamp_ += microseconds{draw(random_, 1, 5)};
    made.info = wire::find_opcode(opcode);
    made.psn = psn & 0xFFFFFF;
    return made;
  }
  void request(std::uint32_t psn) { log.request(packet(kWrite, psn), 1); }
  void requests(std::uint32_t from, std::uint32_t end) {
    for (std::uint32_t psn = from; psn < end; ++psn) request(psn);
  }
  void answer(std::uint32_t psn, std::uint8_t syndrome) {
    CapturedPacket made = packet(kAck, psn);
    made.has_aeth = true;
    made.syndrome = syndrome;
    log.answer(made);
  }
  void ack(std::uint32_t psn) {
    answer(psn, kGood);
    acks.push_back(frame_);
  }
  std::uint64_t nak(std::uint32_t psn) {
    answer(psn, kSequence);
    say(AnomalyKind::nak, Cause::sequence_nak, frame_, psn, 1);
    return frame_;
  }
  Anomaly& say(AnomalyKind kind, Cause cause, std::uint64_t frame, std::uint32_t psn,
               std::uint64_t packets, std::uint64_t related = 0) {
    Anomaly said;
    said.kind = kind;
    said.cause = cause;
    said.frame = said.last_frame = frame;
    said.related_frame = related;
    said.psn = psn & 0xFFFFFF;
    said.packets = packets;
    findings.push_back(std::move(said));
    return findings.back();
  }
  /// Sends all from `psn` on again, and has it acknowledged.
  void go_back(std::uint32_t psn, Cause cause, std::uint64_t related) {
    const std::uint64_t first = frame_ + 1;
    requests(psn, next_);
    say(AnomalyKind::retransmission, cause, first, psn, next_ - psn, related).last_frame = frame_;
    ack(next_ - 1);
  }
  /// Sends new requests; returns the first of them.
  std::uint32_t send() {
    const std::uint32_t first = next_;
    next_ += draw(random_, 2, 20);
    requests(first, next_);
    return first;
  }
  std::uint64_t skip() {
    next_ += draw(random_, 1, 3);
    return frame_ + 1;
  }

  void lose_before() {
    send();
    const std::uint32_t lost = next_;
    const std::uint64_t shown = skip();
    const std::uint32_t end = next_;
    send();
    say(AnomalyKind::psn_gap, Cause::lost_before_capture, shown, lost, end - lost);
    go_back(lost, Cause::sequence_nak, nak(lost));
  }
  void lose_behind() {
    const std::uint32_t first = send();
    const std::uint32_t lost = draw(random_, first, next_ - 2);
    const std::uint64_t asked = nak(lost);
    say(AnomalyKind::lost_after_capture, Cause::lost_behind, asked, lost, 1);
    go_back(lost, Cause::sequence_nak, asked);
  }
  void lose_by_timer() {
    const std::uint32_t first = send();
    stamp_ += milliseconds{1};
    go_back(first, Cause::timeout, 0);
  }
  void refuse() {
    const std::uint32_t first = send();
    answer(first, kNotReady);
    say(AnomalyKind::rnr_nak, Cause::receiver_not_ready, frame_, first, 1);
    go_back(first, Cause::receiver_not_ready, frame_);
  }
  void copy() {
    const std::uint32_t first = send();
    request(first);
    say(AnomalyKind::duplicate, Cause::path_copy, frame_, first, 1);
    ack(next_ - 1);
  }
  void overtake() {
    send();
    const std::uint32_t late = next_++;
    send();
    request(late);
    say(AnomalyKind::out_of_order, Cause::none, frame_, late, 1);
    ack(next_ - 1);
  }
  void lose_ack() {
    const std::uint32_t first = send();
    ack(next_ - 1);
    go_back(first, Cause::ack_lost, 0);
  }
  void lose_response() {
    const std::uint32_t read = next_;
    next_ += 4;
    log.request(packet(kRead, read), 4);
    const std::uint64_t asked = frame_;
    log.request(packet(kRead, read), 4);
    say(AnomalyKind::retransmission, Cause::response_lost, frame_, read, 4, asked);
    ack(next_ - 1);
  }
  void miss_in_capture() {
    send();
    const std::uint32_t missing = next_;
    const std::uint64_t shown = skip();
    const std::uint32_t end = next_;
    send();
    say(AnomalyKind::psn_gap, Cause::missing_in_capture, shown, missing, end - missing);
    ack(next_ - 1);
  }
  void stop() {
    const std::uint32_t first = send();
    say(AnomalyKind::unanswered, Cause::none, frame_, first, next_ - first);
  }

  Random& random_;
  std::uint32_t next_;
  std::uint64_t frame_ = 0;
  Instant stamp_{std::chrono::seconds{1}};
};

std::uint64_t demoted(const std::vector<Anomaly>& findings) {
  return static_cast<std::uint64_t>(std::ranges::count_if(
      findings, [](const Anomaly& one) { return one.certainty != Certainty::certain; }));
}

/// A change that makes some findings wrong.
struct Mutation {
  std::string_view name;
  std::function<bool(const Anomaly&)> concerns;
  std::function<void(Anomaly&, const Talk&, Random&)> change;
};

bool is_recovery(const Anomaly& one, Cause cause) {
  return one.kind == kResent && one.cause == cause;
}
bool is_gap(const Anomaly& one, Cause cause) { return one.kind == kGap && one.cause == cause; }

/// Gives a finding the cause `to`.
auto cause(Cause to) {
  return [to](Anomaly& one, const Talk&, Random&) { one.cause = to; };
}
/// Moves the PSN of a finding by its number of packets, or a few more.
void move_psn(Anomaly& one, const Talk&, Random& random) {
  const auto by = static_cast<std::uint32_t>(one.packets) + draw(random, 0, 3);
  one.psn = (draw(random, 0, 1) != 0 ? one.psn + by : one.psn - by) & 0xFFFFFF;
}
void name_an_ack(Anomaly& one, const Talk& talk, Random& random) {
  one.related_frame = talk.acks[draw(random, 0, static_cast<std::uint32_t>(talk.acks.size()) - 1)];
}
/// Names a NAK that explains another recovery: the newest one before this; an ACK if there is none.
void use_old_nak(Anomaly& one, const Talk& talk, Random& random) {
  name_an_ack(one, talk, random);
  for (const PassageLog::Nak& nak : talk.log.naks())
    if (nak.frame < one.frame && nak.answer == PassageLog::Answer::sequence_nak)
      one.related_frame = nak.frame;
  one.cause = Cause::sequence_nak;
}
void move_to_an_ack(Anomaly& one, const Talk& talk, Random& random) {
  one.frame = talk.acks[draw(random, 0, static_cast<std::uint32_t>(talk.acks.size()) - 1)];
}

const std::vector<Mutation>& mutations() {
  using enum Cause;
  static const std::vector<Mutation> kAll = {
      {"a loss that did not come again",
       [](const Anomaly& one) { return is_gap(one, missing_in_capture); },
       cause(lost_before_capture)},
      {"a frame missing in the capture that came again",
       [](const Anomaly& one) { return is_gap(one, lost_before_capture); },
       cause(missing_in_capture)},
      {"a loss of other PSNs", [](const Anomaly& one) { return one.kind == kGap; }, move_psn},
      {"a recovery from other PSNs", [](const Anomaly& one) { return one.kind == kResent; },
       move_psn},
      {"a NAK of other PSNs", [](const Anomaly& one) { return one.kind == AnomalyKind::nak; },
       move_psn},
      {"a loss behind of other PSNs",
       [](const Anomaly& one) { return one.kind == AnomalyKind::lost_after_capture; }, move_psn},
      {"a NAK for a timer", [](const Anomaly& one) { return is_recovery(one, timeout); },
       use_old_nak},
      {"an ACK as NAK", [](const Anomaly& one) { return is_recovery(one, sequence_nak); },
       name_an_ack},
      {"an RNR NAK for a NAK", [](const Anomaly& one) { return is_recovery(one, sequence_nak); },
       cause(receiver_not_ready)},
      {"a NAK for an RNR NAK",
       [](const Anomaly& one) { return is_recovery(one, receiver_not_ready); },
       cause(sequence_nak)},
      {"a lost ACK that never was", [](const Anomaly& one) { return is_recovery(one, timeout); },
       cause(ack_lost)},
      {"a lost response without a READ",
       [](const Anomaly& one) { return is_recovery(one, sequence_nak); }, cause(response_lost)},
      {"a recovery in another frame", [](const Anomaly& one) { return one.kind == kResent; },
       move_to_an_ack},
      {"a copy in another frame",
       [](const Anomaly& one) { return one.kind == AnomalyKind::duplicate; }, move_to_an_ack},
      {"a NAK in another frame", [](const Anomaly& one) { return one.kind == AnomalyKind::nak; },
       move_to_an_ack},
      {"no answer to what was acknowledged",
       [](const Anomaly& one) { return one.kind == AnomalyKind::unanswered; },
       [](Anomaly& one, const Talk&, Random& random) {
         one.psn = (one.psn - draw(random, 1, 8)) & 0xFFFFFF;
       }},
  };
  return kAll;
}

TEST(ProtocolCheck, TakesRightFindings) {
  Random random(1);
  std::uint64_t all = 0, wrong = 0;
  for (int drawn = 0; drawn < 300; ++drawn) {
    Talk talk(random);
    check_findings(talk.log, {}, talk.findings);
    all += talk.findings.size();
    wrong += demoted(talk.findings);
  }
  EXPECT_GT(all, 3000U);
  EXPECT_LE(100 * wrong, all) << wrong << " of " << all;
}

TEST(ProtocolCheck, FindsWhatAMutationBreaks) {
  std::uint64_t all = 0, all_caught = 0;
  for (const Mutation& mutation : mutations()) {
    Random random(2);
    std::uint64_t changed = 0, caught = 0;
    for (int drawn = 0; drawn < 300; ++drawn) {
      Talk talk(random);
      for (std::size_t i = 0; i < talk.findings.size(); ++i) {
        if (!mutation.concerns(talk.findings[i])) continue;
        std::vector<Anomaly> findings = talk.findings;
        mutation.change(findings[i], talk, random);
        check_findings(talk.log, {}, findings);
        ++changed;
        caught += findings[i].certainty != Certainty::certain;
      }
    }
    EXPECT_GE(changed, 200U) << mutation.name;
    all += changed;
    all_caught += caught;
    EXPECT_GE(100 * caught, 95 * changed) << mutation.name << ": " << caught << " of " << changed;
  }
  EXPECT_GE(100 * all_caught, 95 * all) << all_caught << " of " << all;
}

TEST(ProtocolCheck, NothingIsCertainOfAGuessedPair) {
  Random random(3);
  Talk talk(random);
  check_findings(talk.log, {.guessed_pair = true}, talk.findings);
  for (const Anomaly& one : talk.findings) {
    if (one.kind != kResent && one.kind != AnomalyKind::lost_after_capture) continue;
    EXPECT_EQ(one.certainty, Certainty::unknown);
  }
}

TEST(ProtocolCheck, ADamagedPacketThatWasAcknowledgedIsDamagedInTheCaptureOnly) {
  std::uint32_t room = 100;
  PassageLog log(room);
  CapturedPacket packet;
  packet.info = wire::find_opcode(0x0A);
  const auto pass = [&](std::uint32_t psn) {
    ++packet.number;
    packet.psn = psn;
    log.request(packet, 1);
  };
  pass(10);
  packet.number = 2;  // 11, damaged
  pass(12);
  CapturedPacket ack;
  ack.info = wire::find_opcode(0x11);
  ack.number = 4;
  ack.psn = 12;
  ack.has_aeth = true;
  ack.syndrome = 0x1F;
  log.answer(ack);
  log.finish();
  std::vector<Anomaly> findings(1);
  findings[0].kind = AnomalyKind::bad_icrc;
  findings[0].frame = findings[0].last_frame = 2;
  findings[0].psn = 11;
  check_findings(log, {}, findings);
  EXPECT_EQ(findings[0].cause, Cause::missing_in_capture);
  EXPECT_EQ(findings[0].certainty, Certainty::certain);
  findings[0].cause = Cause::none;
  findings[0].psn = 12;  // came again
  check_findings(log, {}, findings);
  EXPECT_EQ(findings[0].cause, Cause::none);
}

/// Requests and NAKs that pass at stated times, and what is said of them.
class Passage {
 public:
  void request(std::uint32_t psn, microseconds at, std::uint8_t opcode = 0x0A) {
    log.request(packet(opcode, psn, at), 1);
  }
  void nak(std::uint32_t psn, microseconds at) { answer(psn, at, 0x60); }
  void ack(std::uint32_t psn, microseconds at) { answer(psn, at, 0x1F); }
  /// What is said of the newest packet, which has `psn`.
  Anomaly& say(AnomalyKind kind, Cause cause, std::uint32_t psn) {
    Anomaly& said = findings.emplace_back();
    said.kind = kind;
    said.cause = cause;
    said.frame = said.last_frame = frame_;
    said.psn = psn;
    said.packets = 1;
    return said;
  }
  const Anomaly& checked_last() {
    log.finish();
    check_findings(log, {}, findings);
    return findings.back();
  }

  std::uint32_t room = 1000;
  PassageLog log{room};
  std::vector<Anomaly> findings;

 private:
  CapturedPacket packet(std::uint8_t opcode, std::uint32_t psn, microseconds at) {
    CapturedPacket made;
    made.number = ++frame_;
    made.stamp = Instant{std::chrono::seconds{1}} + at;
    made.info = wire::find_opcode(opcode);
    made.psn = psn;
    return made;
  }
  void answer(std::uint32_t psn, microseconds at, std::uint8_t syndrome) {
    CapturedPacket made = packet(0x11, psn, at);
    made.has_aeth = true;
    made.syndrome = syndrome;
    log.answer(made);
  }

  std::uint64_t frame_ = 0;
};

/// Ten packets that are late by 1 us each; then a NAK of 100, if `asked`, and the packet with PSN
/// 100 again, late by `last`.
Anomaly late_after_others(microseconds last, bool asked) {
  Passage passage;
  passage.request(100, microseconds{1});
  passage.request(101, microseconds{2});
  for (std::uint32_t i = 0; i < 10; ++i) {
    passage.request(103 + 2 * i, microseconds{10 + 2 * i});
    passage.request(102 + 2 * i, microseconds{11 + 2 * i});
    passage.say(AnomalyKind::out_of_order, Cause::none, 102 + 2 * i).duration = microseconds{1};
  }
  if (asked) passage.nak(100, microseconds{40});
  passage.request(100, microseconds{40} + last);
  passage.say(AnomalyKind::out_of_order, Cause::none, 100).duration = last;
  return passage.checked_last();
}

TEST(ProtocolCheck, WhatComesFarLaterThanOthersAfterANakMayHaveBeenSentAgain) {
  const Anomaly late = late_after_others(microseconds{9}, true);
  expect_either(late, {{AnomalyKind::out_of_order, Cause::none}, {kResent, Cause::none}});
  expect_certain(late_after_others(microseconds{8}, true), Cause::none);
  expect_certain(late_after_others(microseconds{9}, false), Cause::none);
}

/// A packet that passed, and passes again after `time`, by a timer, as is said. `asked`: a NAK
/// asked for it in between.
Anomaly repeated_by_timer(microseconds time, bool asked) {
  Passage passage;
  passage.request(99, microseconds{0});
  passage.ack(99, microseconds{0});
  passage.request(100, microseconds{0});
  passage.request(101, microseconds{1});
  if (asked) passage.nak(100, microseconds{2});
  passage.request(100, time);
  passage.say(kResent, Cause::timeout, 100);
  return passage.checked_last();
}

TEST(ProtocolCheck, NoTimerIsShorterThanTheShortest) {
  constexpr Hypothesis kLatePacket = {AnomalyKind::out_of_order, Cause::none};
  expect_certain(repeated_by_timer(microseconds{500}, false), Cause::timeout);
  expect_either(repeated_by_timer(microseconds{499}, false), {kLatePacket, {kResent, Cause::none}});
  expect_either(repeated_by_timer(microseconds{499}, true),
                {{kResent, Cause::sequence_nak}, kLatePacket});
}

/// A READ that passes twice, for a lost response, as is said; before it comes again, a NAK asks for
/// `named`.
Anomaly repeated_read(std::uint32_t named) {
  constexpr std::uint8_t kReadRequest = 0x0C;
  Passage passage;
  passage.request(100, microseconds{0});
  passage.request(101, microseconds{1}, kReadRequest);
  passage.nak(named, microseconds{5});
  passage.request(101, microseconds{40}, kReadRequest);
  passage.say(kResent, Cause::response_lost, 101);
  return passage.checked_last();
}

TEST(ProtocolCheck, ANakThatExplainsNothingElseAsksForARepeatedRead) {
  for (const std::uint32_t named : {100U, 101U})
    expect_either(repeated_read(named),
                  {{kResent, Cause::response_lost}, {kResent, Cause::sequence_nak}});
  expect_certain(repeated_read(102), Cause::response_lost);
}

TEST(ProtocolCheck, WhatAsksForNoResponseIsNotRepeatedForOneWhereverItComes) {
  Passage passage;
  for (int time = 0; time < 2; ++time)
    for (std::uint32_t psn = 100; psn < 104; ++psn)
      passage.request(psn, milliseconds{time} + microseconds{psn});
  passage.request(104, milliseconds{2});
  Anomaly& said = passage.say(kResent, Cause::response_lost, 102);
  said.frame = said.last_frame = 7;  // within those that came again
  EXPECT_EQ(passage.checked_last().certainty, Certainty::unknown);
}

}  // namespace
}  // namespace lw::analysis
