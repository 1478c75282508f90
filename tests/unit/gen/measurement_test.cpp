// SPDX-License-Identifier: BSD-3-Clause
#include "gen/receive/measurement.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "measured.h"

namespace lw::gen {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr const char* kTwoFlows = R"(
  [defaults]
  signature = true
  messages = 250
  message_size = 4096
  [[flow]]
  operation = "write"
  ecn = "ce"
  [[flow]]
  source = "2001:db8::1"
  message_size = 1000
  dst_qp = 0x77)";

/// Feeds frames, each `delay` after it was sent.
void feed(Measurement& measurement, const std::vector<test::StampedFrame>& frames,
          Duration delay = milliseconds(1)) {
  for (const auto& frame : frames) measurement.count_frame(frame.bytes, frame.sent + delay);
  measurement.finalize();
}

std::vector<test::StampedFrame> one_flow(std::uint64_t messages) {
  return test::frames_of_profile("[[flow]]\nsignature = true\nmessages = " +
                                 std::to_string(messages));
}

TEST(Measurement, CountsEachFlowForItself) {
  Measurement measurement({});
  feed(measurement, test::frames_of_profile(kTwoFlows));
  const auto& flows = measurement.flows();
  ASSERT_EQ(flows.size(), 2u);
  EXPECT_EQ(flows[0].frames, 1000u);
  EXPECT_EQ(flows[0].ce_marks, 1000u);
  EXPECT_EQ(flows[1].frames, 250u);
  EXPECT_EQ(flows[1].ce_marks, 0u);
  for (std::uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(flows[i].stream.key.dest_qp, i);
    EXPECT_EQ(flows[i].order.lost + flows[i].order.duplicated + flows[i].order.out_of_order, 0u);
    EXPECT_EQ(flows[i].icrc_checked, flows[i].frames);
    EXPECT_EQ(flows[i].signature->latency.minimum(), 1'000'000);
    EXPECT_EQ(flows[i].signature->latency.maximum(), 1'000'000);
    EXPECT_EQ(flows[i].signature->jitter.ns(), 0);
  }
}

/// What a measurement says of a flow.
std::string summary_of(const ReceiveFlow& flow) {
  std::string text;
  for (const auto count :
       {std::uint64_t{flow.stream.key.dest_qp}, flow.frames, flow.bytes, flow.icrc_checked,
        flow.bad_icrc, flow.order.lost, flow.order.duplicated, flow.order.out_of_order})
    text += std::to_string(count) + ' ';
  if (!flow.signature) return text;
  const Histogram& latency = flow.signature->latency;
  return text + std::to_string(latency.minimum()) + ' ' + std::to_string(latency.quantile(0.5)) +
         ' ' + std::to_string(latency.maximum()) + ' ' +
         std::to_string(flow.signature->jitter.ns());
}

TEST(Measurement, BurstsCountLikeSingleFrames) {
  // More flows than the near caches hold, of both kinds; every 7th frame is lost, every 11th comes
  // twice, the 13th are behind the next, and some are no RoCE frames or are damaged.
  auto frames = test::frames_of_profile(R"(
    [[flow]]
    qps = 300
    dst_qp = 0x1000
    signature = true
    messages = 20
    [[flow]]
    source = "198.51.100.9"
    messages = 200)");
  std::vector<wire::Bytes> arriving;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i % 7 == 3) continue;
    if (i % 97 == 5) frames[i].bytes.back() ^= std::byte{1};
    if (i % 101 == 9) frames[i].bytes.resize(20);
    arriving.insert(arriving.end(), i % 11 == 0 ? 2 : 1, frames[i].bytes);
    if (i % 13 == 0 && arriving.size() > 2) std::swap(arriving.back(), *(arriving.end() - 2));
  }
  Measurement single({}), bursts({});
  const Instant now = frames.back().sent;
  for (const wire::Bytes frame : arriving) single.count_frame(frame, now);
  for (std::size_t i = 0, size = 1; i < arriving.size(); i += size, size = size % 70 + 1) {
    size = std::min(size, arriving.size() - i);
    bursts.count_frames(std::span<const wire::Bytes>(arriving).subspan(i, size), now);
  }
  single.finalize();
  bursts.finalize();
  ASSERT_GT(single.flows().size(), 256u);
  ASSERT_EQ(bursts.flows().size(), single.flows().size());
  EXPECT_EQ(bursts.totals().roce, single.totals().roce);
  EXPECT_EQ(bursts.totals().bad_icrc, single.totals().bad_icrc);
  EXPECT_GT(single.totals().bad_icrc, 0u);
  for (std::size_t i = 0; i < single.flows().size(); ++i)
    EXPECT_EQ(summary_of(bursts.flows()[i]), summary_of(single.flows()[i])) << i;
}

TEST(Measurement, CountsExactlyWhatWasDropped) {
  auto frames = one_flow(1000);
  for (const std::size_t gone : {900u, 501u, 500u, 17u, 0u}) {
    frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  Measurement measurement({});
  feed(measurement, frames);
  const auto& flow = measurement.flows().front();
  EXPECT_EQ(flow.frames, 995u);
  EXPECT_EQ(flow.order.lost, 5u);
  EXPECT_EQ(flow.order.duplicated, 0u);
  EXPECT_EQ(flow.order.out_of_order, 0u);
}

TEST(Measurement, CountsExactlyWhatWasSwapped) {
  auto frames = one_flow(1000);
  for (const std::size_t at : {0u, 400u, 998u}) std::swap(frames[at], frames[at + 1]);
  // One that is held back behind 40 others.
  std::rotate(frames.begin() + 600, frames.begin() + 601, frames.begin() + 641);
  Measurement measurement({});
  feed(measurement, frames);
  const auto& order = measurement.flows().front().order;
  EXPECT_EQ(order.lost, 0u);
  EXPECT_EQ(order.duplicated, 0u);
  EXPECT_EQ(order.out_of_order, 4u);
  EXPECT_EQ(order.extents->maximum(), 40);
  EXPECT_EQ(order.extents->quantile(0.75), 1);
}

TEST(Measurement, CountsExactlyWhatWasDuplicated) {
  auto frames = one_flow(1000);
  for (const std::size_t at : {900u, 500u, 500u, 0u}) {
    const auto copy = frames[at];
    frames.insert(frames.begin() + static_cast<std::ptrdiff_t>(at), copy);
  }
  frames.push_back(frames.front());
  Measurement measurement({});
  feed(measurement, frames);
  const auto& order = measurement.flows().front().order;
  EXPECT_EQ(order.lost, 0u);
  EXPECT_EQ(order.duplicated, 5u);
  EXPECT_EQ(order.out_of_order, 0u);
}

/// Of copies, the first one has the latency (RFC 7679).
TEST(Measurement, ACopyHasNoLatency) {
  auto frames = one_flow(20);
  Measurement measurement({});
  for (const auto& frame : frames)
    measurement.count_frame(frame.bytes, frame.sent + microseconds(5));
  measurement.count_frame(frames.front().bytes, frames.front().sent + microseconds(400));
  measurement.finalize();
  const ReceiveFlow& flow = measurement.flows().front();
  EXPECT_EQ(flow.order.duplicated, 1u);
  EXPECT_EQ(flow.signature->latency.count(), 20u);
  EXPECT_EQ(flow.signature->latency.maximum(), 5000);
  EXPECT_EQ(flow.signature->jitter.ns(), 0);
}

TEST(Measurement, FramesThatTheProfileDoesNotHaveAreCountedByField) {
  const std::string text =
      std::string(kTwoFlows) + "\n[[flow]]\noperation = \"send\"\n" + "message_size = 9000\n";
  auto frames = test::frames_of_profile(text);
  const auto profile = config::parse_flow_profile(text, "test");
  const AskedFrames asked(*profile);
  Measurement right({});
  right.compare_with(asked);
  feed(right, frames);
  for (const ReceiveFlow& flow : right.flows()) EXPECT_EQ(flow.not_as_asked, nullptr);

  test::change(frames[1], [](wire::Bth& bth) { bth.dest_qp.set(bth.dest_qp.get() ^ 1); });
  test::change(frames[4], [](wire::Bth& bth) { bth.p_key.set(0x1234); });
  test::change(frames[6], [](wire::Bth& bth) {
    bth.dest_qp.set(bth.dest_qp.get() ^ 4);
    bth.set_psn(bth.psn() + 7);
  });
  Measurement measurement({});
  measurement.compare_with(asked);
  feed(measurement, frames);
  NotAsAsked sum;
  for (const ReceiveFlow& flow : measurement.flows())
    if (flow.not_as_asked) sum += *flow.not_as_asked;
  EXPECT_EQ(sum.frames, 3u);
  EXPECT_EQ(sum.dest_qp, 2u);
  EXPECT_EQ(sum.pkey, 1u);
  EXPECT_EQ(sum.opcode, 0u);
  EXPECT_EQ(sum.psn, 1u);
}

TEST(Measurement, OneThatJoinsDoesNotCountWhatWasBefore) {
  auto frames = one_flow(1000);
  frames.erase(frames.begin(), frames.begin() + 300);
  std::swap(frames[0], frames[1]);
  Measurement from_zero({}), joined({.join = true});
  feed(from_zero, frames);
  feed(joined, frames);
  EXPECT_EQ(from_zero.flows().front().order.lost, 300u);
  EXPECT_EQ(joined.flows().front().order.lost, 0u);
  EXPECT_EQ(joined.flows().front().order.out_of_order, 1u);
}

/// A run of the sender has its number in each signature; what the stamps say doesn't matter.
TEST(Measurement, ASenderThatBeginsAgainLosesNothing) {
  const std::string text = "[[flow]]\nsignature = true\nmessages = 100";
  auto first = test::frames_of_profile(text, {.run = 7});
  const auto second = test::frames_of_profile(text, {.run = 9});
  std::vector<test::StampedFrame> late(first.begin() + 95, first.end());
  first.resize(95);
  Measurement measurement({});
  feed(measurement, first);
  feed(measurement, {second.begin(), second.begin() + 50});
  feed(measurement, late);  // of the first run, held back on the way
  feed(measurement, {second.begin() + 50, second.end()});
  const auto& order = measurement.flows().front().order;
  EXPECT_EQ(order.restarts, 1u);
  EXPECT_EQ(order.duplicated, 0u);
  EXPECT_EQ(order.lost, 0u);
  EXPECT_EQ(order.out_of_order, 0u);
  feed(measurement, first);  // copies
  EXPECT_EQ(order.duplicated, 95u);
  EXPECT_EQ(order.restarts, 1u);
}

TEST(Measurement, ARunOfWhichOnlyTheEndCameHasLostItsBegin) {
  const std::string text = "[[flow]]\nsignature = true\nmessages = 100";
  const auto second = test::frames_of_profile(text, {.run = 9});
  Measurement measurement({});
  feed(measurement, test::frames_of_profile(text, {.run = 7}));
  feed(measurement, {second.begin() + 30, second.end()});
  EXPECT_EQ(measurement.flows().front().order.lost, 30u);
}

TEST(Measurement, SignaturesSayTheirVersion) {
  auto frames = one_flow(3);
  Measurement measurement({});
  feed(measurement, frames);
  EXPECT_EQ(measurement.flows().front().signature->version, 2);
  for (auto& frame : frames) {
    constexpr std::size_t kPayload = 14 + 20 + 8 + 12;
    auto* signature = wire::view_at<wire::Signature>(wire::MutableBytes(frame.bytes), kPayload);
    auto fields = signature->fields();
    fields.version = 1;
    signature->set(fields);
    test::stamp(frame, frame.sent);
  }
  Measurement old({});
  feed(old, frames);
  EXPECT_EQ(old.flows().front().signature->version, 1);
  EXPECT_EQ(old.flows().front().order.lost, 0u);
}

TEST(Measurement, JitterIsThatOfRfc3550) {
  const auto frames = one_flow(3);
  Measurement measurement({});
  measurement.count_frame(frames[0].bytes, frames[0].sent + microseconds(100));
  measurement.count_frame(frames[1].bytes, frames[1].sent + microseconds(132));
  measurement.count_latencies();
  EXPECT_DOUBLE_EQ(measurement.flows().front().signature->jitter.ns(), 2000);  // 32000 / 16
  measurement.count_frame(frames[2].bytes, frames[2].sent + microseconds(132));
  measurement.count_latencies();
  EXPECT_DOUBLE_EQ(measurement.flows().front().signature->jitter.ns(), 1875);  // less a 16th
}

/// A sender's send times are its own: each may need further buckets of the histogram.
TEST(Measurement, LatenciesTakeNoMoreThanTheirMemory) {
  const auto frames = one_flow(200);
  constexpr std::uint64_t kMost = 4096;
  Measurement measurement({.most_latency_memory = kMost});
  for (std::size_t i = 0; i < frames.size(); ++i)
    measurement.count_frame(frames[i].bytes, frames[i].sent + microseconds(i * i));
  measurement.finalize();
  const auto& flow = measurement.flows().front();
  const Histogram& latency = flow.signature->latency;
  EXPECT_EQ(flow.frames, 200u);
  EXPECT_GE(latency.bytes(), kMost);
  EXPECT_LT(latency.bytes(), kMost + 1024);
  EXPECT_GT(latency.count(), 5u);
  EXPECT_EQ(latency.count() + measurement.totals().latencies_not_counted, 200u);

  Measurement whole({});
  for (std::size_t i = 0; i < frames.size(); ++i)
    whole.count_frame(frames[i].bytes, frames[i].sent + microseconds(i * i));
  whole.finalize();
  EXPECT_EQ(whole.totals().latencies_not_counted, 0u);
  EXPECT_EQ(whole.flows().front().signature->latency.count(), 200u);
  EXPECT_DOUBLE_EQ(flow.signature->jitter.ns(), whole.flows().front().signature->jitter.ns());
}

TEST(Measurement, ADamagedFrameCountsAsThatAndAsLost) {
  auto frames = one_flow(100);
  constexpr std::size_t kSequence = 14 + 20 + 8 + 12 + 8;
  frames[40].bytes[kSequence] ^= std::byte{0x80};  // would be a jump of 2^63
  Measurement sampled({.icrc_every = 1000}), whole({.icrc_every = 1});
  feed(sampled, frames);
  feed(whole, frames);
  for (Measurement* measurement : {&sampled, &whole}) {
    const auto& flow = measurement->flows().front();
    EXPECT_EQ(flow.bad_icrc, 1u);
    EXPECT_EQ(flow.frames, 99u);
    EXPECT_EQ(flow.order.lost, 1u);
  }
  EXPECT_LT(sampled.totals().icrc_checked, 5u);
  EXPECT_EQ(whole.totals().icrc_checked, 100u);
}

TEST(Measurement, ADamagedAddressBeginsNoFlow) {
  auto frames = one_flow(100);
  frames[40].bytes[14 + 12] ^= std::byte{1};
  Measurement measurement({.icrc_every = 1000});
  feed(measurement, frames);
  EXPECT_EQ(measurement.flows().size(), 1u);
  EXPECT_EQ(measurement.totals().bad_icrc, 1u);
}

TEST(Measurement, ThousandsOfFlowsAreKeptApart) {
  std::string text = "[defaults]\nsignature = true\nmessages = 3\n";
  for (int i = 0; i < 3000; ++i) text += "[[flow]]\ndst_qp = " + std::to_string(i) + "\n";
  Measurement measurement({.icrc_every = 64});
  feed(measurement, test::frames_of_profile(text));
  EXPECT_EQ(measurement.flows().size(), 3000u);
  for (const auto& flow : measurement.flows()) {
    EXPECT_EQ(flow.frames, 3u);
    EXPECT_EQ(flow.order.lost, 0u);
  }
}

/// Other people's frames: PSNs over the end of their circle.
TEST(Measurement, PsnsWrap) {
  auto frames = test::frames_of_profile("[[flow]]\nfirst_psn = 0xffff00\nmessages = 1000\n");
  frames.erase(frames.begin() + 300);
  frames.erase(frames.begin() + 100);
  std::swap(frames[254], frames[255]);
  Measurement measurement({});
  feed(measurement, frames);
  const auto& order = measurement.flows().front().order;
  EXPECT_EQ(order.lost, 2u);
  EXPECT_EQ(order.out_of_order, 1u);
  EXPECT_EQ(order.duplicated + order.retransmitted + order.restarts, 0u);
}

/// The distance over a lost READ looks like a smaller MTU, which the next ones correct.
TEST(Measurement, ALostReadIsLostAndNothingElse) {
  for (const std::size_t lost : {1u, 2u, 3u, 40u, 498u}) {
    auto frames = test::frames_of_profile(
        "[[flow]]\noperation = \"read_request\"\nmessage_size = 4096\nmtu = 1024\nmessages = 500");
    frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(lost));
    Measurement measurement({});
    feed(measurement, frames);
    measurement.finalize();
    const auto& order = measurement.flows().front().order;
    EXPECT_EQ(order.lost, 4u) << lost;
    EXPECT_EQ(order.duplicated, 0u) << lost;
    EXPECT_EQ(order.out_of_order, 0u) << lost;
  }
}

TEST(Measurement, AReadThatComesLateIsNotLost) {
  auto frames = test::frames_of_profile(
      "[[flow]]\noperation = \"read_request\"\nmessage_size = 4096\nmtu = 1024\nmessages = 50");
  std::swap(frames[1], frames[2]);
  Measurement measurement({});
  feed(measurement, frames);
  measurement.finalize();
  const auto& order = measurement.flows().front().order;
  EXPECT_EQ(order.duplicated, 0u);
  EXPECT_EQ(order.lost, 0u);
  EXPECT_EQ(order.out_of_order, 4u);  // PSNs
}

TEST(Measurement, EverySecondReadLostIsSeenWhenOneComesBetween) {
  auto frames = test::frames_of_profile(
      "[[flow]]\noperation = \"read_request\"\nmessage_size = 4096\nmtu = 1024\nmessages = 60");
  for (std::ptrdiff_t i = 19; i > 0; i -= 2) frames.erase(frames.begin() + i);
  Measurement measurement({});
  feed(measurement, frames);
  measurement.finalize();
  EXPECT_EQ(measurement.flows().front().order.lost, 40u);
  EXPECT_EQ(measurement.flows().front().order.duplicated, 0u);
}

/// Nothing says what the MTU is but the PSN that follows.
TEST(Measurement, AReadTakesAsManyPsnsAsItsResponse) {
  for (const char* mtu : {"256", "1024", "4096"}) {
    auto frames = test::frames_of_profile(
        "[[flow]]\noperation = \"read_request\"\nmessage_size = 10000\nfirst_psn = 0xfffff0\n"
        "messages = 100\nmtu = " +
        std::string(mtu));
    Measurement measurement({});
    feed(measurement, frames);
    const auto& order = measurement.flows().front().order;
    EXPECT_EQ(order.lost + order.duplicated + order.out_of_order, 0u) << mtu;
  }
}

/// Go-back-N: a gap, then the sender begins again where the gap was.
TEST(Measurement, GoingBackIsRetransmissionAndNoReordering) {
  auto frames = test::frames_of_profile("[[flow]]\nmessages = 100\n");
  const std::vector<test::StampedFrame> again(frames.begin() + 40, frames.end());
  frames.erase(frames.begin() + 40, frames.begin() + 42);
  frames.erase(frames.begin() + 58, frames.end());
  frames.insert(frames.end(), again.begin(), again.end());
  Measurement measurement({});
  feed(measurement, frames);
  const auto& order = measurement.flows().front().order;
  EXPECT_EQ(order.lost, 2u);
  EXPECT_EQ(order.retransmitted, 2u);
  EXPECT_EQ(order.duplicated, 18u);
  EXPECT_EQ(order.out_of_order, 0u);
}

TEST(Measurement, NothingButRoceIsMeasured) {
  Measurement measurement({});
  const std::vector<std::byte> other(60);
  measurement.count_frame(other, Instant{});
  measurement.count_frame(wire::Bytes{}, Instant{});
  EXPECT_EQ(measurement.totals().frames, 2u);
  EXPECT_EQ(measurement.totals().roce, 0u);
  EXPECT_TRUE(measurement.flows().empty());
}

}  // namespace
}  // namespace lw::gen
