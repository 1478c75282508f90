// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/requester_replay.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "analysis/requests/keep_evidence.h"

namespace lw::analysis {
namespace {

using Behind = RequesterReplay::Behind;

constexpr std::uint8_t kReadRequest = 12, kWriteOnly = 10;

/// An answer in frame `number`, `number` microseconds after the begin.
Message::Completion answer(std::uint64_t number) {
  return {number, Instant{} + std::chrono::microseconds{number}};
}

/// Two READs with the PSNs 100 to 103 and 104 to 107, and a WRITE with 108.
class Replay : public testing::Test {
 protected:
  Replay() {
    const auto read = [this](Sequence psn) {
      log_.push([=] {
        return Sent{.psn = psn, .span = 4, .opcode = kReadRequest, .seen = true, .fetches = true};
      });
    };
    read(100);
    read(104);
    log_.push([] { return Sent{.psn = 108, .opcode = kWriteOnly, .seen = true}; });
    discards_.begin(100);
    keeps_.begin(100);
  }

  void respond(Sequence psn, std::uint64_t frame, Sequence end = 0) {
    for (RequesterReplay* const replay : {&discards_, &keeps_})
      replay->take_responses(log_, *log_.find(psn), psn, end == 0 ? psn + 1 : end, answer(frame));
  }
  void ack(Sequence psn, std::uint64_t frame) {
    for (RequesterReplay* const replay : {&discards_, &keeps_})
      replay->take_ack(log_, psn + 1, answer(frame));
  }
  static std::uint64_t frame_of(const RequesterReplay& replay, Sequence end) {
    const auto at = replay.completion_of(end);
    return at ? at->frame : 0;
  }

  SentLog log_;
  RequesterReplay discards_{Behind::discards}, keeps_{Behind::keeps};
};

TEST_F(Replay, TakesAnswersInOrder) {
  respond(100, 1, 104);
  respond(104, 2, 108);
  ack(108, 3);
  for (const RequesterReplay& replay : {discards_, keeps_}) {
    EXPECT_EQ(frame_of(replay, 104), 1u);
    EXPECT_EQ(frame_of(replay, 108), 2u);
    EXPECT_EQ(frame_of(replay, 109), 3u);
    EXPECT_EQ(replay.next(), 109u);
  }
}

TEST_F(Replay, AMissingResponseIsTheDifference) {
  respond(100, 1);
  respond(102, 2, 104);  // 101 is lost
  respond(104, 3, 108);
  EXPECT_EQ(discards_.next(), 101u);
  EXPECT_EQ(keeps_.next(), 101u);
  respond(101, 4);
  EXPECT_EQ(discards_.next(), 102u);
  EXPECT_EQ(frame_of(keeps_, 104), 4u);
  EXPECT_EQ(frame_of(keeps_, 108), 4u);
  respond(102, 5, 104);
  EXPECT_EQ(frame_of(discards_, 104), 5u);
  EXPECT_EQ(discards_.next(), 104u);
}

TEST_F(Replay, AnAckBehindAReadThatIsNotCompleteIsDiscarded) {
  respond(100, 1, 104);
  ack(108, 2);
  EXPECT_EQ(keeps_.next(), 104u);
  respond(104, 3, 108);
  EXPECT_EQ(keeps_.next(), 108u);
  ack(108, 4);
  EXPECT_EQ(frame_of(keeps_, 109), 4u);
}

TEST_F(Replay, AResponseAcknowledgesWhatIsBeforeItsRequest) {
  log_.push([] {
    return Sent{.psn = 109, .span = 2, .opcode = kReadRequest, .seen = true, .fetches = true};
  });
  respond(100, 1, 104);
  respond(104, 2, 108);
  respond(109, 3, 111);
  EXPECT_EQ(frame_of(discards_, 109), 3u);
  EXPECT_EQ(frame_of(discards_, 111), 3u);
}

TEST_F(Replay, TakesBackWhatWasLostBehindTheCapturePoint) {
  respond(100, 1, 104);
  respond(104, 2, 108);
  const Sent& first = *log_.find(100);
  discards_.take_back(first, 102, 104);
  keeps_.take_back(first, 102, 104);
  EXPECT_EQ(discards_.next(), 102u);
  EXPECT_EQ(keeps_.next(), 102u);
  respond(102, 3, 104);
  EXPECT_EQ(frame_of(discards_, 104), 3u);
  EXPECT_EQ(discards_.next(), 104u);  // it discarded the answer to the second READ
  EXPECT_EQ(frame_of(keeps_, 104), 3u);
  EXPECT_EQ(frame_of(keeps_, 108), 3u);  // it kept it
}

TEST_F(Replay, ForgetsWhatLeavesTheLog) {
  respond(102, 1, 104);
  discards_.forget(104);
  EXPECT_EQ(discards_.next(), 104u);
  respond(104, 2, 108);
  EXPECT_EQ(frame_of(discards_, 108), 2u);
}

TEST_F(Replay, ARequesterThatDiscardsRepeatsWhatIsBehind) {
  KeepEvidence evidence;
  KeepEvidence::Replays replays;
  replays.discards.begin(100);
  replays.keeps.begin(100);
  evidence.note_repeated(
      replays,
      {.request = log_.find(100), .psn = 101, .end = 104, .newest = 109, .answered = true});
  EXPECT_EQ(evidence.keeps(), std::nullopt);
  replays.keeps.take_responses(log_, *log_.find(104), 104, 108, answer(1));
  evidence.note_repeated(
      replays,
      {.request = log_.find(104), .psn = 104, .end = 108, .newest = 109, .answered = true});
  EXPECT_EQ(evidence.keeps(), false);
}

TEST_F(Replay, ARequesterThatKeepsGoesOnWithNewRequests) {
  KeepEvidence evidence;
  KeepEvidence::Replays replays;
  replays.discards.begin(100);
  replays.keeps.begin(100);
  evidence.note_repeated(
      replays,
      {.request = log_.find(100), .psn = 101, .end = 104, .newest = 109, .answered = true});
  EXPECT_TRUE(evidence.note_new(replays, 109, Instant{}, Duration{}));
  EXPECT_EQ(evidence.keeps(), true);
}

TEST(PsnRanges, AgreeWithASet) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random{seed};
    PsnRanges ranges;
    std::vector<bool> model(64);
    for (int step = 0; step < 60; ++step) {
      const Sequence first = random() % 60, end = first + 1 + random() % 4;
      const bool adds = random() % 3 > 0;
      if (adds)
        EXPECT_TRUE(ranges.add(first, end));
      else
        ranges.remove(first, end);
      std::fill(model.begin() + static_cast<std::ptrdiff_t>(first),
                model.begin() + static_cast<std::ptrdiff_t>(end), adds);
      for (Sequence psn = 0; psn < 64; ++psn) {
        Sequence expected = psn;
        while (expected < 64 && model[expected]) ++expected;
        EXPECT_EQ(ranges.end_of(psn), expected) << psn;
      }
    }
  }
}

}  // namespace
}  // namespace lw::analysis
