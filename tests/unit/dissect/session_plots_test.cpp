// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/session_plots.h"

#include <algorithm>
#include <cstdlib>
#include <deque>

#include <gtest/gtest.h>

namespace lw::dissect::test {
namespace {

using analysis::CapturedPacket;
using analysis::Session;

class Nothing final : public analysis::Results {
 public:
  void found(const analysis::Anomaly& /*anomaly*/) override {}
  void completed(const analysis::Message& /*message*/) override {}
};

/// Sessions whose packets come in turns, one each microsecond.
class Turns {
 public:
  explicit Turns(std::uint32_t sessions) {
    for (std::uint32_t number = 1; number <= sessions; ++number) {
      Session& session = sessions_.emplace_back();
      session.number = number;
      session.directions[0].stream = std::make_unique<analysis::RequestStream>(
          analysis::StreamSetup{.session = number, .direction = 0, .mtu = 4096}, results_, log_);
    }
  }

  void send(SessionPlots& plots, std::uint32_t number, std::uint32_t psn) {
    Session& session = sessions_[number - 1];
    const CapturedPacket packet = next(0x0a, psn, 4096);
    ++session.directions[0].packets;
    session.directions[0].stream->request(packet);
    plots.followed(session, 0, packet, true);
  }
  void acknowledge(SessionPlots& plots, std::uint32_t number, std::uint32_t psn) {
    Session& session = sessions_[number - 1];
    const CapturedPacket packet = next(0x11, psn, 0);
    session.directions[0].stream->response(packet);
    plots.followed(session, 1, packet, true);
  }

 private:
  CapturedPacket next(std::uint8_t opcode, std::uint32_t psn, std::uint32_t payload) {
    ++frame_;
    return {.number = frame_,
            .stamp = instant_from_ns(static_cast<std::int64_t>(frame_) * 1000),
            .info = wire::find_opcode(opcode),
            .psn = psn,
            .payload = payload,
            .syndrome = 0x1f,
            .has_aeth = opcode == 0x11};
  }

  Nothing results_;
  analysis::FindingLog log_;
  std::deque<Session> sessions_;
  std::uint64_t frame_ = 0;
};

std::vector<std::int64_t> values(const ThinSeries& series) {
  std::vector<std::int64_t> all;
  for (const SeriesPoint& point : series.points()) all.push_back(point.value);
  return all;
}

TEST(SessionPlots, PsnsAreRelativeAlsoWhereTheyWrap) {
  Turns turns(1);
  SessionPlots plots;
  turns.send(plots, 1, 0xfffffe);
  turns.send(plots, 1, 0xffffff);
  turns.send(plots, 1, 0);
  turns.acknowledge(plots, 1, 0xffffff);
  turns.send(plots, 1, 1);
  turns.send(plots, 1, 0);  // again
  const DirectionPlots& of = *plots.find(1, 0);
  EXPECT_EQ(of.first_psn, 0xfffffeU);
  EXPECT_EQ(values(of.requests), (std::vector<std::int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(values(of.again), std::vector<std::int64_t>{2});
  EXPECT_EQ(values(of.acks), std::vector<std::int64_t>{1});
  EXPECT_EQ(values(of.outstanding),
            (std::vector<std::int64_t>{4096, 8192, 12288, 4096, 8192, 8192}));
  EXPECT_EQ(values(of.rtt), std::vector<std::int64_t>{2000});
  EXPECT_EQ(plots.find(1, 1), nullptr);
  EXPECT_EQ(plots.find(2, 0), nullptr);
}

TEST(SessionPlots, KeepsTheRequestsAroundAnEvent) {
  constexpr std::uint32_t kPackets = 20'000, kAgain = 12'345;
  Turns turns(1);
  SessionPlots plots;
  for (std::uint32_t psn = 0; psn < kPackets; ++psn) {
    turns.send(plots, 1, psn);
    if (psn == kAgain) turns.send(plots, 1, psn);
  }
  const auto points = plots.find(1, 0)->all_requests();
  EXPECT_LE(points.size(), DirectionPlots::kMostPoints + 2 * DirectionPlots::kAround);
  constexpr auto kNear = static_cast<std::int64_t>(DirectionPlots::kAround);
  std::vector<std::int64_t> near;
  for (const SeriesPoint& point : points)
    if (std::abs(point.value - kAgain) < kNear) near.push_back(point.value);
  ASSERT_EQ(near.size(), static_cast<std::size_t>(2 * kNear - 1));
  EXPECT_EQ(near.front(), kAgain - kNear + 1);
  EXPECT_TRUE(std::ranges::is_sorted(near));
}

TEST(SessionPlots, OfTooManySessionsTheWorstStay) {
  constexpr std::uint32_t kSessions = 400, kBad = 7, kPackets = 120;
  constexpr std::ptrdiff_t kMost = 30'000;
  Turns turns(kSessions);
  SessionPlots plots(kMost);
  for (std::uint32_t psn = 0; psn < kPackets; ++psn)
    for (std::uint32_t session = 1; session <= kSessions; ++session) {
      turns.send(plots, session, psn);
      if (session == kBad && psn % 10 == 9) turns.send(plots, session, psn - 2);
    }
  std::size_t points = 0;
  std::uint32_t cut = 0, held = 0;
  for (std::uint32_t session = 1; session <= kSessions; ++session) {
    const DirectionPlots* const of = plots.find(session, 0);
    if (of == nullptr) continue;
    ++held;
    cut += of->is_cut;
    EXPECT_EQ(of->is_cut, of->since > 1000 * (kSessions + 1)) << session;
    points += of->requests.kept() + of->again.kept() + of->outstanding.kept();
  }
  EXPECT_LE(points, static_cast<std::size_t>(kMost + kMost / 4));
  EXPECT_GT(cut, 0U);
  EXPECT_GE(held, SessionPlots::kMostHeld);
  EXPECT_EQ(plots.worst(1).front()->number, kBad);
  const DirectionPlots& bad = *plots.find(kBad, 0);
  EXPECT_FALSE(bad.is_cut);
  EXPECT_EQ(bad.requests.added(), kPackets);
  EXPECT_EQ(bad.again.added(), kPackets / 10);
}

}  // namespace
}  // namespace lw::dissect::test
