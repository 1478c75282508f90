// SPDX-License-Identifier: BSD-3-Clause
// How a sender recovers, as its repetitions show.
#include "analysis/findings/recovery_votes.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analysis/findings/repeated_runs.h"

namespace lw::analysis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

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
  votes.add_nak(10, Instant{microseconds{1}}, 10);
  votes.add(10, 19, 20, Instant{microseconds{4}});
  votes.add(20, 10, 20, Instant{microseconds{5}});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{3});
}

TEST(RecoveryVotes, GoingBackOverTheEndOfPsns) {
  RecoveryVotes votes;
  votes.add_nak(0xffffff, Instant{}, 0xffffff);
  add_run(votes, 0xffffff, 3, 1, 2, 7);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{7});
}

TEST(RecoveryVotes, AnAckOfPacketsThatWereSentOnceShowsThatTheReceiverKeptThem) {
  for (const bool repeated : {false, true}) {
    RecoveryVotes votes;
    votes.add_nak(10, Instant{}, 20);
    if (repeated) add_run(votes, 10, 21, 19, 20, 50);
    votes.add_ack(19);
    EXPECT_EQ(votes.scheme(), repeated ? RecoveryScheme::go_back_n : RecoveryScheme::selective);
  }
}

TEST(RecoveryVotes, ALatePacketIsNoRepetition) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add(10, 19, 20, Instant{microseconds{1}});  // late
  add_run(votes, 10, 21, 10, 20, 50);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{50});
}

TEST(RecoveryVotes, WhatComesSoonerThanAnAnswerIsLate) {
  constexpr auto kSoonest = microseconds{20};
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add(10, 19, 20, Instant{microseconds{19}}, false, kSoonest);  // late
  votes.add(20, 10, 20, Instant{microseconds{30}}, false, kSoonest);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
  add_run(votes, 10, 22, 20, 21, 50);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{50});
}

TEST(RecoveryVotes, GoingBackFurtherThanTheNakWeighsMore) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add(10, 19, 20, Instant{microseconds{1}});  // late
  votes.add(20, 10, 20, Instant{microseconds{2}});
  votes.add_nak(11, Instant{microseconds{3}}, 11);
  add_run(votes, 10, 22, 20, 21, 50);  // answers the first NAK
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), std::nullopt);
}

TEST(RecoveryVotes, SeveralNaksAreOnTheirWayAndTheFirstOfAPacketIsAnswered) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add_nak(10, Instant{microseconds{20}}, 10);
  votes.add_nak(15, Instant{microseconds{40}}, 15);
  add_run(votes, 10, 21, 19, 20, 100);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{100});
}

TEST(RecoveryVotes, ARecoveryBeforeTheNakShowsNothing) {
  RecoveryVotes votes;
  votes.add(9, 19, 20, Instant{microseconds{1}});
  votes.add_nak(10, Instant{microseconds{2}}, 10);
  add_run(votes, 10, 21, 9, 20, 3);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

TEST(RecoveryVotes, ARecoveryGoesOnBehindThePacketThatANakAsksFor) {
  RecoveryVotes votes;
  add_run(votes, 10, 18, 39, 40, 1);  // by a timer
  for (std::uint32_t psn = 12; psn < 15; ++psn) {
    const int at = static_cast<int>(psn) * 100;
    const std::uint32_t next = 18 + 4 * (psn - 12);  // of the recovery
    votes.add_nak(psn, Instant{microseconds{at}}, psn);
    votes.add(psn, next - 1, 40, Instant{microseconds{at + 3}});
    // One packet may be lost before.
    add_run(votes, next + psn % 2, next + 4, psn, 40, at + 4);
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{3});
}

TEST(RecoveryVotes, AReceiverThatAsksForALaterPacketKeepsThoseBetween) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add(10, 19, 20, Instant{microseconds{5}});
  votes.add_nak(14, Instant{microseconds{20}}, 14);
  votes.add(14, 10, 20, Instant{microseconds{25}});
  votes.add(20, 14, 20, Instant{microseconds{26}});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{5});
}

TEST(RecoveryVotes, WhatComesTwiceWasLateFirst) {
  RecoveryVotes votes;
  for (std::uint32_t psn = 10; psn < 50; psn += 10) {
    const int at = static_cast<int>(psn) * 100;
    votes.add_nak(psn, Instant{microseconds{at}}, psn);
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
    votes.add_nak(psn, Instant{}, psn);
    votes.add(psn, psn + 9, psn + 10, Instant{microseconds{5}});
    votes.add(psn + 10, psn, psn + 10, Instant{microseconds{6}});
  }
  add_run(votes, 13, 19, 23, 24, 4000);
  EXPECT_EQ(votes.least_reaction(), microseconds{5});
}

TEST(RecoveryVotes, WhatIsAskedForAgainWasAnAnswer) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add(10, 19, 20, Instant{microseconds{5}});
  votes.add(20, 10, 20, Instant{microseconds{6}});
  votes.add_nak(10, Instant{microseconds{50}}, 10);  // it was lost
  votes.add(10, 20, 21, Instant{microseconds{55}});
  EXPECT_EQ(votes.least_reaction(), microseconds{5});
}

TEST(RecoveryVotes, ANakOfTheNextPacketShowsThatTheReceiverKeepsOthers) {
  RecoveryVotes votes;
  for (const std::uint32_t psn : {10U, 11U, 12U, 13U}) {
    votes.add_nak(psn, Instant{microseconds{100 * psn}}, psn);
    votes.add(psn, psn == 10 ? 19 : 30, 20, Instant{microseconds{100 * psn + 20}});
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), microseconds{20});
}

TEST(RecoveryVotes, ATimerGoesBackFurtherThanASelectiveSender) {
  RecoveryVotes votes;
  for (int times = 0; times < 2; ++times) {
    votes.add_nak(10, Instant{}, 10);
    add_run(votes, 10, 21, 19, 20, 1200);
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{1200});
  votes.add_nak(30, Instant{}, 30);
  votes.add(30, 39, 40, Instant{microseconds{30}});
  votes.add(40, 30, 40, Instant{microseconds{31}});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
}

TEST(RecoveryVotes, WhatComesFarBeforeTheOthersWasLate) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add(10, 19, 20, Instant{microseconds{2}});
  add_run(votes, 11, 21, 10, 20, 270);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(), microseconds{270});
}

TEST(RecoveryVotes, AReadThatIsRepeatedForItsResponseShowsNothing) {
  RecoveryVotes votes;
  votes.add_nak(12, Instant{}, 12);
  for (std::uint32_t psn = 10; psn < 20; ++psn)
    votes.add(psn, psn == 10 ? 19 : psn - 1, 20, Instant{microseconds{50}}, true);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

/// A NAK names `psn`, which the packet after it has skipped, and `psn` comes alone in `later` us.
void add_late(RecoveryVotes& votes, std::uint32_t psn, int at, int later) {
  votes.add_nak(psn, Instant{microseconds{at}}, psn, true);
  votes.add(psn, psn + 1, psn + 2, Instant{microseconds{at + later}});
}

TEST(RecoveryVotes, ANakOfAPacketThatCameShowsThatTheReceiverDiscardsOthers) {
  RecoveryVotes votes;
  for (std::uint32_t psn = 10; psn < 90; psn += 10) {
    const int at = static_cast<int>(psn) * 100;
    add_late(votes, psn, at, 1);
    if (psn == 20) votes.add(psn + 2, psn, psn + 2, Instant{microseconds{at + 2}});
    votes.add_nak(psn + 1, Instant{microseconds{at + 3}}, psn + 1);
    votes.add(psn + 3, psn + 2, psn + 3, Instant{microseconds{at + 4}});
  }
  EXPECT_EQ(votes.scheme(), RecoveryScheme::go_back_n);
}

TEST(RecoveryVotes, APauseEndsWhatWasSentAlone) {
  for (const auto& [pause, scheme] :
       {std::pair{600, RecoveryScheme::selective}, std::pair{6, RecoveryScheme::go_back_n}}) {
    RecoveryVotes votes;
    votes.add_nak(10, Instant{}, 10);
    votes.add(10, 19, 20, Instant{microseconds{4}});
    add_run(votes, 14, 21, 10, 20, 4 + pause);
    EXPECT_EQ(votes.scheme(), scheme) << pause;
  }
}

TEST(RecoveryVotes, WhatComesFarSoonerThanTheUsualAnswerWasLate) {
  RecoveryVotes votes;
  for (const auto& [psn, later] : {std::pair{10U, 3}, std::pair{20U, 131}, std::pair{30U, 40},
                                   std::pair{40U, 130}, std::pair{50U, 12}, std::pair{60U, 133}}) {
    votes.add_nak(psn, Instant{}, psn);
    votes.add(psn, psn + 2, psn + 3, Instant{microseconds{later}});
    votes.add(psn + 3, psn, psn + 3, Instant{microseconds{later + 1}});
  }
  EXPECT_EQ(votes.least_reaction(), microseconds{130});
}

TEST(RecoveryVotes, WhatBeginsBeforeThePacketThatANakNamesIsNoAnswer) {
  RecoveryVotes votes;
  votes.add_nak(14, Instant{}, 14);
  add_run(votes, 10, 21, 19, 20, 4);
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

TEST(RecoveryVotes, ATimerIsFarLongerThanThePathToItsSender) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  add_run(votes, 10, 21, 19, 20, 1200);
  EXPECT_EQ(votes.scheme(microseconds{10}), RecoveryScheme::unknown);
  EXPECT_EQ(votes.scheme(microseconds{100}), RecoveryScheme::go_back_n);
  EXPECT_EQ(votes.least_reaction(microseconds{100}), std::nullopt);  // one may be by a timer
}

TEST(RecoveryVotes, ATimerMayHaveSentASinglePacketAlone) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 12);
  votes.add(10, 11, 12, Instant{milliseconds{4}});
  votes.add(12, 10, 12, Instant{milliseconds{5}});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::selective);
  EXPECT_EQ(votes.least_reaction(), std::nullopt);
  EXPECT_EQ(votes.least_reaction(milliseconds{3}), milliseconds{4});
  votes.add_nak(13, Instant{milliseconds{6}}, 16);
  votes.add(13, 15, 16, Instant{milliseconds{11}});
  votes.add(16, 13, 16, Instant{milliseconds{12}});
  EXPECT_EQ(votes.least_reaction(), milliseconds{4});
}

TEST(RecoveryVotes, TheNewestPacketShowsNothing) {
  RecoveryVotes votes;
  votes.add_nak(10, Instant{}, 10);
  votes.add(10, 10, 11, Instant{});
  votes.add(11, 10, 11, Instant{});
  EXPECT_EQ(votes.scheme(), RecoveryScheme::unknown);
}

}  // namespace
}  // namespace lw::analysis
