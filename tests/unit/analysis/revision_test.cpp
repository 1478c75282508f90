// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/requests/revision.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/requests/request_stream.h"

namespace lw::analysis::revision_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NoResults final : public Results {
 public:
  void found(const Anomaly&) override {}
  void completed(const Message&) override {}
};

/// SENDs of a sender that goes back, 10 us apart, and the answers to them. Frames count from 1.
class Revisions : public testing::Test {
 protected:
  static constexpr std::uint32_t kFirst = 100;  // PSN

  /// Returns the number of the frame.
  std::uint64_t send(std::uint32_t psn) {
    stream.request(packet(4, psn));
    return number;
  }
  void answer(std::uint32_t psn, std::uint8_t syndrome) {
    CapturedPacket made = packet(17, psn);
    made.has_aeth = true;
    made.syndrome = syndrome;
    stream.response(made);
  }
  void nak(std::uint32_t psn) { answer(psn, 0x60); }
  /// PSNs 0 to 9 arrive, and 10 does not; 11 to 15 pass, and a NAK names 10.
  void lose_the_tenth() {
    for (std::uint32_t psn = 0; psn < 10; ++psn) {
      send(psn);
      answer(psn, 0x1f);
    }
    for (std::uint32_t psn = 11; psn < 16; ++psn) send(psn);
    nak(10);
  }
  Sequence sequence(std::uint32_t psn) const { return stream.unwrap(kFirst + psn); }
  std::vector<Revision> revisions() const {
    const auto newest = stream.revisions().newest();
    return {newest.begin(), newest.end()};
  }

  CapturedPacket packet(std::uint8_t opcode, std::uint32_t psn) {
    stamp += std::chrono::microseconds{10};
    CapturedPacket made;
    made.number = ++number;
    made.stamp = stamp;
    made.info = wire::find_opcode(opcode);
    made.psn = kFirst + psn;
    made.payload = 64;
    made.ack_req = true;
    return made;
  }

  NoResults results;
  FindingLog log;
  std::uint64_t number = 0;
  Instant stamp{};
  RequestStream stream{{.mtu = 1024,
                        .scheme = RecoveryScheme::go_back_n,
                        .least_reaction = std::chrono::microseconds{5},
                        .round_trip = std::chrono::microseconds{5},
                        .answer_time = std::chrono::microseconds{5}},
                       results,
                       log};
};

TEST_F(Revisions, ARecoveryInOrderTakesNothingBack) {
  lose_the_tenth();
  for (std::uint32_t psn = 10; psn < 16; ++psn) send(psn);
  send(16);
  stream.finish(stamp, true);
  EXPECT_EQ(stream.counts().resent, 6U);
  EXPECT_THAT(revisions(), IsEmpty());
}

TEST_F(Revisions, APacketThatARecoverySkippedComesLate) {
  lose_the_tenth();
  for (const std::uint32_t psn : {10U, 11U, 12U}) send(psn);
  const auto skips = send(14);  // 13 seems to be lost once more
  send(15);
  send(13);
  const auto next = send(16);
  EXPECT_THAT(revisions(),
              ElementsAre(Revision{Assumption::lost_again, sequence(13), skips, next}));
  EXPECT_EQ(stream.revisions().count(Assumption::lost_again), 1U);
  EXPECT_EQ(stream.counts().resent, 6U);
}

TEST_F(Revisions, ALatePacketThatFillsAGapIsNoneOfTheRecovery) {
  for (std::uint32_t psn = 0; psn < 10; ++psn) {
    send(psn);
    answer(psn, 0x1f);
  }
  for (const std::uint32_t psn : {11U, 12U, 13U, 15U, 16U}) send(psn);
  nak(10);
  for (const std::uint32_t psn : {10U, 11U, 12U}) send(psn);
  const auto late = send(14);  // 13 seems to be lost once more, and 14 to be sent again
  const auto next = send(13);
  EXPECT_THAT(revisions(), ElementsAre(Revision{Assumption::sent_again, sequence(14), late, next}));
  EXPECT_EQ(stream.counts().resent, 4U);  // 10 to 13
}

TEST_F(Revisions, TheNewestAreKept) {
  RevisionLog revised;
  for (std::uint64_t frame = 1; frame <= RevisionLog::kMost + 1; ++frame) {
    revised.begin(frame + 1);
    revised.add(Assumption::cause, frame, frame);
  }
  EXPECT_EQ(revised.count(Assumption::cause), RevisionLog::kMost + 1);
  EXPECT_EQ(revised.count(Assumption::lost), 0U);
  ASSERT_EQ(revised.newest().size(), RevisionLog::kMost);
  EXPECT_EQ(revised.newest().front(), (Revision{Assumption::cause, 2, 2, 3}));
}

}  // namespace
}  // namespace lw::analysis::revision_test
