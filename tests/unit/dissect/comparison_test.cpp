// SPDX-License-Identifier: BSD-3-Clause
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "dissect/compare/changes.h"
#include "unit/dissect/capture_file.h"

namespace lw::dissect::test {
namespace {

constexpr std::int64_t kDelay = 1'903'500;

Comparison compare(CaptureFile& near, CaptureFile& far) {
  Names names;
  auto at_near = read_point(near.path(), "", names), at_far = read_point(far.path(), "", names);
  return compare_points(*at_near, *at_far, names);
}

/// Distinct frames, all from 192.168.77.2 to 192.168.77.1.
std::vector<std::vector<std::byte>> one_way_frames(std::size_t count) {
  std::vector<std::vector<std::byte>> frames;
  for (const auto& frame : real_frames("uc_send_write.pcap")) {
    if (frames.size() < count) frames.push_back(frame.bytes);
  }
  return frames;
}

TEST(Wilson, EqualsPublishedIntervals) {
  // R: prop.test(x, n, correct = FALSE)$conf.int
  const Proportion ten = wilson95(10, 100);
  EXPECT_NEAR(ten.low, 0.05522914, 1e-7);
  EXPECT_NEAR(ten.high, 0.1743657, 1e-7);
  EXPECT_DOUBLE_EQ(wilson95(0, 10).low, 0);
  EXPECT_NEAR(wilson95(0, 10).high, 0.2775328, 1e-7);
  EXPECT_NEAR(wilson95(10, 10).low, 0.7224672, 1e-7);
  EXPECT_DOUBLE_EQ(wilson95(10, 10).high, 1);
  EXPECT_DOUBLE_EQ(wilson95(0, 0).high, 1);
}

TEST(Delays, QuantilesAreExact) {
  Delays delays;
  for (std::int64_t ns = 1000; ns > 0; --ns) delays.add(1'903'500'000 + ns);
  delays.sort();
  EXPECT_EQ(delays.quantile(0), 1'903'500'001);
  EXPECT_EQ(delays.quantile(0.5), 1'903'500'500);
  EXPECT_EQ(delays.quantile(0.999), 1'903'500'999);
  EXPECT_EQ(delays.quantile(1), 1'903'501'000);
  EXPECT_DOUBLE_EQ(delays.mean(), 1'903'500'500.5);
}

TEST(Compare, CountsLossOrderAndDelay) {
  const auto frames = one_way_frames(6);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  for (int i = 0; i < 6; ++i) near.add(i * 1000, frames[static_cast<std::size_t>(i)]);
  far.add(kDelay + 0, frames[0]);
  far.add(kDelay + 2500, frames[2]);
  far.add(kDelay + 2600, frames[1]);  // overtaken
  far.add(kDelay + 5000, frames[5]);
  far.add(kDelay + 5100, frames[5]);  // copied; 3 and 4 are lost
  const Comparison comparison = compare(near, far);
  const DirectionResult& d = comparison.near_to_far;
  EXPECT_EQ(d.sent, 6u);
  EXPECT_EQ(d.received, 5u);
  EXPECT_EQ(d.lost, 2u);
  EXPECT_EQ(d.invented, 0u);
  EXPECT_EQ(d.duplicated, 1u);
  EXPECT_EQ(d.reordered, 1u);
  EXPECT_EQ(d.ambiguous, 1u);
  EXPECT_EQ(d.delays.count(), 3u);
  EXPECT_EQ(d.delays.quantile(0), kDelay);
  EXPECT_EQ(d.delays.quantile(1), kDelay + 1600);
  EXPECT_FALSE(comparison.far_to_near.seen());
}

/// What one frame of several becomes on its way, and what compare says of all.
DirectionResult change_one(const std::function<void(std::vector<std::byte>&)>& change,
                           bool new_icrc) {
  auto frames = one_way_frames(5);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  for (int i = 0; i < 5; ++i) {
    std::vector<std::byte>& frame = frames[static_cast<std::size_t>(i)];
    near.add(i * 1000, frame);
    if (i == 2) {
      change(frame);
      const auto place = roce::expected_icrc(roce::open_envelope(frame));
      if (new_icrc) wire::store_icrc(std::span(frame).subspan(place->offset, 4), place->expected);
    }
    far.add(kDelay + i * 1000, frame);
  }
  return compare(near, far).near_to_far;
}

TEST(Compare, AFrameWithAnyFlippedBitIsChanged) {
  const std::size_t bth = 42, payload = bth + 12;
  for (const std::size_t offset : {bth, bth + 6, bth + 11, payload, bth - 8}) {
    for (const bool silent : {false, true}) {
      const DirectionResult d =
          change_one([&](std::vector<std::byte>& frame) { frame[offset] ^= std::byte{4}; }, silent);
      EXPECT_EQ(d.sent, 5u) << offset;
      EXPECT_EQ(d.changed, 1u) << offset;
      EXPECT_EQ(d.damaged, silent ? 0u : 1u) << offset;
      EXPECT_EQ(d.lost + d.invented + d.reordered, 0u) << offset;
      ASSERT_EQ(d.changed_frames.size(), 1u);
      EXPECT_EQ(d.changed_frames[0].sent, 3u);
      EXPECT_EQ(d.changed_frames[0].received, 3u);
    }
  }
}

TEST(Compare, RewrittenAddressesAreChangesAndGiveDelays) {
  auto frames = one_way_frames(5);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  for (int i = 0; i < 5; ++i) {
    std::vector<std::byte>& frame = frames[static_cast<std::size_t>(i)];
    near.add(i * 1000, frame);
    frame[14 + 15] ^= std::byte{7};  // source
    const auto place = roce::expected_icrc(roce::open_envelope(frame));
    wire::store_icrc(std::span(frame).subspan(place->offset, 4), place->expected);
    if (i != 3) far.add(kDelay + i * 1000, frame);
  }
  const Comparison comparison = compare(near, far);
  const DirectionResult& d = comparison.near_to_far;
  EXPECT_FALSE(comparison.far_to_near.seen());
  EXPECT_EQ(d.sent, 5u);
  EXPECT_EQ(d.lost, 1u);
  EXPECT_EQ(d.changed, 4u);
  EXPECT_EQ(d.damaged, 0u);
  EXPECT_EQ(d.delays.count(), 4u);
  EXPECT_EQ(d.delays.quantile(1), kDelay);
}

TEST(Compare, ALostFrameAndAnotherOneAreNoChange) {
  const auto frames = one_way_frames(5);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  for (int i = 0; i < 4; ++i) {
    near.add(i * 1000, frames[static_cast<std::size_t>(i)]);
    far.add(kDelay + i * 1000, frames[static_cast<std::size_t>(i == 2 ? 4 : i)]);
  }
  const DirectionResult d = compare(near, far).near_to_far;
  EXPECT_EQ(d.lost, 1u);
  EXPECT_EQ(d.changed, 0u);
}

TEST(Compare, WhatRoutersChangeKeepsAFramesIdentity) {
  auto frames = one_way_frames(1);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  near.add(0, frames[0]);
  frames[0][0] ^= std::byte{0xff};  // destination MAC
  frames[0][15] |= std::byte{3};    // ECN: CE
  frames[0][22] = std::byte{63};    // TTL
  far.add(10, frames[0]);
  Names names;
  auto at_near = read_point(near.path(), "", names), at_far = read_point(far.path(), "", names);
  const DirectionResult d = compare_points(*at_near, *at_far, names).near_to_far;
  EXPECT_EQ(d.lost + d.invented + d.changed, 0u);
  EXPECT_EQ(d.ce, 1u);
  EXPECT_EQ(d.marked, 1u);
  const auto changes = find_changes(d, names.forms, near.path(), far.path(), "");
  std::map<std::string, std::string> found;
  for (const FieldChange& c : changes->rewritten) found[c.field] = c.received;
  EXPECT_EQ(found.size(), 3u);
  EXPECT_EQ(found["ip.ttl"], "63");
  EXPECT_EQ(found["ip.dsfield.ecn"], "3");
  EXPECT_TRUE(found.contains("eth.dst"));
}

TEST(Compare, TheFieldsOfAChangedFrameAreNamed) {
  auto frames = one_way_frames(2);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  near.add(0, frames[0]).add(1000, frames[1]);
  frames[1][42 + 3] ^= std::byte{1};                // P_Key
  frames[1][frames[1].size() - 6] ^= std::byte{1};  // payload
  far.add(kDelay, frames[0]).add(kDelay + 1000, frames[1]);
  Names names;
  auto at_near = read_point(near.path(), "", names), at_far = read_point(far.path(), "", names);
  const DirectionResult d = compare_points(*at_near, *at_far, names).near_to_far;
  const auto changes = find_changes(d, names.forms, near.path(), far.path(), "");
  ASSERT_EQ(changes->frames.size(), 1u);
  const FrameChange& change = changes->frames[0];
  ASSERT_EQ(change.fields.size(), 1u);
  EXPECT_EQ(change.fields[0].field, "infiniband.bth.p_key");
  EXPECT_NE(change.fields[0].sent, change.fields[0].received);
  const auto frame = roce::parse(frames[1]);
  const std::size_t offset =
      frames[1].size() - 6 - static_cast<std::size_t>(frame->payload.data() - frames[1].data());
  EXPECT_EQ(change.payload, std::vector{offset});
  EXPECT_EQ(change.payload_bytes, 1u);
}

TEST(Compare, EqualFramesMatchInOrder) {
  const auto frames = one_way_frames(1);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  near.add(0, frames[0]).add(100, frames[0]).add(300, frames[0]);
  far.add(10, frames[0]).add(120, frames[0]).add(330, frames[0]);
  const DirectionResult d = compare(near, far).near_to_far;
  EXPECT_EQ(d.lost + d.duplicated + d.ambiguous, 0u);
  EXPECT_EQ(d.delays.quantile(0), 10);
  EXPECT_EQ(d.delays.quantile(1), 30);
}

TEST(Compare, DirectionsAreToldApartByWhoSawAFrameFirst) {
  CaptureFile near("near.pcapng"), far("far.pcapng");
  std::uint64_t there = 0, back = 0;
  std::int64_t now = 0;
  for (const auto& frame : real_frames("cm_rping.pcap")) {
    const bool outbound = roce::open_envelope(frame.bytes).source() == "192.168.77.2";
    (outbound ? there : back) += 1;
    (outbound ? near : far).add(now, frame.bytes);
    // The way back loses every third frame.
    if (outbound || back % 3 != 0) (outbound ? far : near).add(now + kDelay, frame.bytes);
    now += 5'000'000;
  }
  const Comparison comparison = compare(near, far);
  EXPECT_EQ(comparison.near_to_far.sent, there);
  EXPECT_EQ(comparison.near_to_far.lost, 0u);
  EXPECT_EQ(comparison.far_to_near.sent, back);
  EXPECT_EQ(comparison.far_to_near.lost, back / 3);
  EXPECT_EQ(comparison.far_to_near.delays.quantile(1), kDelay);
}

/// Captures of both ends of a path of kDelay with the frames of atomic.pcap, a request and its
/// response in turn, 5 ms apart. `lost`: the frames that do not arrive.
struct BothEnds {
  CaptureFile near{"near.pcapng"}, far{"far.pcapng"};
  std::uint64_t there = 0, back = 0;

  explicit BothEnds(const std::function<bool(const roce::Frame&, bool outbound)>& lost) {
    std::int64_t now = 0;
    for (const auto& captured : real_frames("atomic.pcap")) {
      const auto frame = roce::parse(captured.bytes);
      const bool outbound = frame->envelope.source() == "192.168.77.2";
      (outbound ? there : back) += 1;
      (outbound ? near : far).add(now, captured.bytes);
      if (!lost(*frame, outbound)) (outbound ? far : near).add(now + kDelay, captured.bytes);
      now += 5'000'000;
    }
  }
};

TEST(Compare, ADirectionThatIsLostCompletelyIsLost) {
  for (const bool way : {false, true}) {
    BothEnds ends([way](const roce::Frame&, bool outbound) { return outbound == way; });
    const Comparison comparison = compare(ends.near, ends.far);
    const DirectionResult &there = comparison.near_to_far, &back = comparison.far_to_near;
    EXPECT_EQ(there.sent, ends.there);
    EXPECT_EQ(back.sent, ends.back);
    EXPECT_EQ(there.lost, way ? ends.there : 0);
    EXPECT_EQ(back.lost, way ? 0 : ends.back);
    EXPECT_EQ(there.invented + back.invented, 0u);
  }
}

TEST(Compare, AQueuePairThatIsLostCompletelyIsLost) {
  BothEnds ends([](const roce::Frame& frame, bool) { return frame.bth->dest_qp.get() == 0x20; });
  const Comparison comparison = compare(ends.near, ends.far);
  EXPECT_EQ(comparison.near_to_far.lost, 5u);
  EXPECT_EQ(comparison.far_to_near.lost, 5u);
  EXPECT_EQ(comparison.near_to_far.invented + comparison.far_to_near.invented, 0u);
}

/// Requests and responses pass near; `answers` after its request, a response passes near too.
Comparison responses_at_near_only(std::int64_t answers) {
  CaptureFile near("near.pcapng"), far("far.pcapng");
  std::int64_t now = 0;
  for (const auto& captured : real_frames("atomic.pcap")) {
    const bool request = roce::open_envelope(captured.bytes).source() == "192.168.77.2";
    if (request) {
      now += 10'000'000;
      far.add(now + kDelay, captured.bytes);
    }
    near.add(request ? now : now + answers, captured.bytes);
  }
  return compare(near, far);
}

TEST(Compare, ResponsesBeforeTheirRequestsArrivedWentTheSameWay) {
  const Comparison comparison = responses_at_near_only(50'000);
  EXPECT_EQ(comparison.near_to_far.sent, 20u);
  EXPECT_EQ(comparison.near_to_far.lost, 10u);
  EXPECT_FALSE(comparison.far_to_near.seen());
}

TEST(Compare, ResponsesInTimeCameBackPastTheFarPoint) {
  const Comparison comparison = responses_at_near_only(2 * kDelay + 50'000);
  EXPECT_EQ(comparison.near_to_far.lost, 0u);
  EXPECT_EQ(comparison.far_to_near.invented, 10u);
}

TEST(Compare, OrderIsThatOfEachFlow) {
  // Requests of two queue pairs, those of the second overtaken as a whole.
  std::vector<std::vector<std::byte>> first, second;
  for (const auto& captured : real_frames("atomic.pcap")) {
    const auto frame = roce::parse(captured.bytes);
    if (frame->envelope.source() != "192.168.77.2") continue;
    (frame->bth->dest_qp.get() == 0x20 ? first : second).push_back(captured.bytes);
  }
  CaptureFile near("near.pcapng"), far("far.pcapng");
  std::int64_t now = 0;
  for (const auto& frame : first) near.add(now += 10, frame);
  for (const auto& frame : second) near.add(now += 10, frame);
  std::swap(second[0], second[1]);
  for (const auto& frame : second) far.add(now += 10, frame);
  for (const auto& frame : first) far.add(now += 10, frame);
  Names names;
  auto at_near = read_point(near.path(), "", names), at_far = read_point(far.path(), "", names);
  EXPECT_EQ(compare_points(*at_near, *at_far, names).near_to_far.reordered, 1u);
  EXPECT_EQ(compare_points(*at_near, *at_far, names, {.across_flows = true}).near_to_far.reordered,
            first.size() + 1);
}

TEST(Compare, OfEqualFramesTheLostAndTheCopiedAreCounted) {
  const auto frames = one_way_frames(3);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  near.add(0, frames[0]).add(1000, frames[1]).add(2'000'000, frames[0]).add(2'001'000, frames[2]);
  far.add(kDelay + 1000, frames[1]);
  // The first of the equal frames was lost, the second copied.
  far.add(kDelay + 2'000'000, frames[0]).add(kDelay + 2'000'000, frames[0]);
  far.add(kDelay + 2'001'000, frames[2]);
  const DirectionResult d = compare(near, far).near_to_far;
  EXPECT_EQ(d.sent, 4u);
  EXPECT_EQ(d.lost, 1u);
  EXPECT_EQ(d.duplicated, 1u);
  EXPECT_EQ(d.ambiguous, 0u);
  EXPECT_EQ(d.delays.quantile(0), kDelay);
  EXPECT_EQ(d.delays.quantile(1), kDelay);
}

TEST(Compare, CutFramesAreMatchedByContent) {
  const auto frames = one_way_frames(4);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  for (int i = 0; i < 4; ++i) {
    const auto& frame = frames[static_cast<std::size_t>(i)];
    near.add(i * 1000, std::span(frame).first(std::min<std::size_t>(frame.size(), 80)),
             frame.size());
    if (i != 2) far.add(kDelay + i * 1000, frame);
  }
  Names names;
  auto at_near = read_point(near.path(), "", names), at_far = read_point(far.path(), "", names);
  EXPECT_EQ(at_near->roce, 4u);
  EXPECT_GT(at_near->cut, 0u);
  EXPECT_EQ(at_near->unidentified, at_near->cut);
  const IdentityRule rule = rule_for(*at_near, *at_far);
  EXPECT_FALSE(rule.by_icrc);
  EXPECT_EQ(rule.payload, 80u - 42 - 12);
  at_near = read_point(near.path(), "", names, rule);
  at_far = read_point(far.path(), "", names, rule);
  EXPECT_EQ(at_near->unidentified, 0u);
  const DirectionResult d = compare_points(*at_near, *at_far, names).near_to_far;
  EXPECT_EQ(d.sent, 4u);
  EXPECT_EQ(d.lost, 1u);
  EXPECT_EQ(d.invented + d.changed, 0u);
  EXPECT_EQ(d.delays.quantile(1), kDelay);
}

TEST(Compare, FramesWithoutRightIcrcsAreMatchedByContent) {
  auto frames = one_way_frames(4);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  for (int i = 0; i < 4; ++i) {
    auto& frame = frames[static_cast<std::size_t>(i)];
    far.add(kDelay + i * 1000, frame);
    std::fill(frame.end() - 4, frame.end(), std::byte{0});
    near.add(i * 1000, frame);
  }
  Names names;
  auto at_near = read_point(near.path(), "", names), at_far = read_point(far.path(), "", names);
  const IdentityRule rule = rule_for(*at_near, *at_far);
  EXPECT_FALSE(rule.by_icrc);
  EXPECT_EQ(rule.payload, IdentityRule::kWhole);
  at_near = read_point(near.path(), "", names, rule);
  at_far = read_point(far.path(), "", names, rule);
  const DirectionResult d = compare_points(*at_near, *at_far, names).near_to_far;
  EXPECT_EQ(d.sent, 4u);
  EXPECT_EQ(d.lost + d.invented + d.changed, 0u);
}

TEST(Compare, DelaysBetweenExtremeStampsAreTheLongest) {
  const auto frames = one_way_frames(2);
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  CaptureFile near("near.pcapng"), far("far.pcapng");
  near.add(-kLast - 1, frames[0]).add(0, frames[1]);
  far.add(kLast, frames[0]).add(5, frames[1]);
  const Delays delays = compare(near, far).near_to_far.delays;
  EXPECT_EQ(delays.quantile(0), 5);
  EXPECT_EQ(delays.quantile(1), kLast);
  EXPECT_NEAR(delays.mean(), 4.6e18, 0.1e18);
  const Delays back = compare(far, near).far_to_near.delays;
  EXPECT_EQ(back.quantile(1), kLast);
}

TEST(FlowNames, ForgetTheLeastRecentlySeen) {
  FlowNames flows(2);
  const auto flow = [](std::uint32_t qp) { return roce::FlowKey{.dest_qp = qp}; };
  EXPECT_EQ(flows.index_of(flow(1)), 0u);
  EXPECT_EQ(flows.index_of(flow(2)), 1u);
  EXPECT_EQ(flows.index_of(flow(1)), 0u);
  EXPECT_EQ(flows.index_of(flow(3)), 2u);  // for 2
  EXPECT_EQ(flows.index_of(flow(1)), 0u);
  EXPECT_EQ(flows.index_of(flow(2)), 3u);  // for 3
  EXPECT_EQ(flows.forgotten(), std::vector({false, true, true, false}));
}

TEST(Compare, FramesOfForgottenFlowsAreJudgedOneByOne) {
  const auto frames = one_way_frames(3);
  CaptureFile near("near.pcapng"), far("far.pcapng");
  near.add(0, frames[0]).add(1, frames[1]);
  far.add(kDelay, frames[0]).add(kDelay, frames[2]);
  Names names(1);
  auto at_near = read_point(near.path(), "", names);
  auto at_far = read_point(far.path(), "", names);
  names.flows.index_of({.dest_qp = 0x77});
  const Comparison comparison = compare_points(*at_near, *at_far, names);
  EXPECT_EQ(comparison.forgotten_flows, 1u);
  EXPECT_EQ(comparison.near_to_far.lost, 1u);  // seen at near only
  EXPECT_EQ(comparison.near_to_far.delays.quantile(1), kDelay);
  EXPECT_EQ(comparison.far_to_near.lost, 1u);  // seen at far only
}

TEST(PathPeriods, TextsShowTheLongestInOrder) {
  std::vector<PathPeriod> periods;
  for (std::int64_t i = 0; i < 8; ++i)
    periods.push_back({.begin_ns = i, .end_ns = i, .packets = static_cast<std::uint64_t>(10 + i)});
  periods.push_back({.goes_far = false, .begin_ns = 9, .end_ns = 9, .packets = 3});
  const auto groups = groups_of(periods);
  ASSERT_EQ(groups.size(), 2U);
  ASSERT_EQ(groups[0].longest.size(), 5U);
  EXPECT_EQ(groups[0].longest.front().begin_ns, 3);
  EXPECT_EQ(groups[0].longest.back().begin_ns, 7);
  EXPECT_EQ(groups[0].others_text(), "3 more, of 33 packets");
  EXPECT_EQ(groups[1].others_text(), "");
}

}  // namespace
}  // namespace lw::dissect::test
