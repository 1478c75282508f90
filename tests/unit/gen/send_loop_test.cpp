// SPDX-License-Identifier: BSD-3-Clause
// What a device sees: each rte_eth_tx_burst() call, by a callback that DPDK makes on each.
#include <array>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "gen/tx/tx_loop.h"
#include "nic/clock.h"
#include "roce/envelope.h"
#include "roce/frame.h"
#include "wire/signature.h"

namespace lw::gen {
namespace {

/// A frame's destination QP and PSN, and whether its ICRC is right.
struct Seen {
  std::uint32_t qp = 0, psn = 0;
  bool sound = true;
  friend bool operator==(const Seen&, const Seen&) = default;
};
using Call = std::vector<Seen>;

std::uint16_t note_call(std::uint16_t, std::uint16_t, rte_mbuf** frames, std::uint16_t count,
                        void* calls) {
  Call call;
  for (const rte_mbuf* frame : std::span(frames, count)) {
    const wire::Bytes bytes{rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len};
    const auto parsed = roce::parse(bytes);
    const bool sound = roce::check_icrc(roce::open_envelope(bytes)) == roce::IcrcVerdict::ok;
    call.push_back(parsed ? Seen{parsed->bth->dest_qp.get(), parsed->bth->psn().value(), sound}
                          : Seen{.sound = false});
  }
  static_cast<std::vector<Call>*>(calls)->push_back(std::move(call));
  return count;
}

class TxLoopTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto eal = nic::Eal::start({});
    ASSERT_TRUE(eal) << eal.error().message;
    eal_.emplace(std::move(*eal));
  }
  static void TearDownTestSuite() { eal_.reset(); }

  struct Run {
    std::vector<Call> calls;
    std::vector<FlowCounters> tallies;
  };
  /// A profile through a port when the loop looks every `step`.
  static Run run(const config::FlowProfile& profile, Duration step,
                 std::string_view device = "null") {
    auto pool = nic::Pool::create("receive", {.buffers = 2048, .frame_size = 2000});
    auto buffers = SendBuffers::create("send", SendBuffers::kUsual);
    auto port = nic::Port::open(*eal_, *nic::parse_port_spec(device), *pool);
    EXPECT_TRUE(port) << port.error().message;
    Run run;
    const auto* callback =
        rte_eth_add_tx_callback(port->device().value(), 0, note_call, &run.calls);
    TxScheduler scheduler(profile);
    Limits limits;
    FrameBudget budget(Limits::kAll);
    TxLoop loop(scheduler, profile.flows.size(), {}, {&*port, 1}, *buffers, limits, budget);
    Instant now = nic::now();
    loop.start(now);
    for (; !loop.ended(now); now += step) EXPECT_TRUE(loop.send_due(now));
    rte_eth_remove_tx_callback(port->device().value(), 0, callback);  // it would outlive the port
    run.tallies = loop.counters();
    return run;
  }
  static config::FlowProfile parsed(std::string_view text) {
    auto profile = config::parse_flow_profile(text, "x.toml");
    EXPECT_TRUE(profile) << profile.error().message;
    return *profile;
  }
  static std::vector<Call> calls_of(std::string_view text, Duration step) {
    return run(parsed(text), step).calls;
  }

  static inline std::optional<nic::Eal> eal_;
};

TEST_F(TxLoopTest, ABurstOf32IsOneCall) {
  const auto calls = calls_of("[[flow]]\nburst = 32\nmessages = 3200\nrate = \"320 kframes/s\"\n",
                              std::chrono::microseconds(7));
  ASSERT_EQ(calls.size(), 100u);
  for (const Call& call : calls) EXPECT_EQ(call.size(), 32u);
}

TEST_F(TxLoopTest, ABurstOfWholeMessagesIsOneCall) {
  const auto calls = calls_of(
      "[[flow]]\nburst = 32\nmessages = 800\nmessage_size = 4096\nmtu = 1024\n"
      "rate = \"320 kframes/s\"\n",
      std::chrono::microseconds(7));
  ASSERT_EQ(calls.size(), 100u);
  for (const Call& call : calls) EXPECT_EQ(call.size(), 32u);
}

/// Frames of another flow that are due at the same times are sent before or after a burst.
TEST_F(TxLoopTest, ABurstIsOneCallBesideOtherFlows) {
  const auto calls = calls_of(
      "[[flow]]\ndst_qp = 1\nmessages = 5000\nrate = \"500 kframes/s\"\n"
      "[[flow]]\ndst_qp = 2\nburst = 20\nmessages = 2000\nrate = \"200 kframes/s\"\n",
      std::chrono::microseconds(50));
  std::map<std::size_t, std::size_t> bursts;  // frames of the second flow in a call: so many calls
  std::size_t frames = 0;
  for (const Call& call : calls) {
    frames += call.size();
    const auto of_burst = static_cast<std::size_t>(std::ranges::count(call, 2u, &Seen::qp));
    if (of_burst > 0) ++bursts[of_burst];
  }
  EXPECT_EQ(frames, 7000u);
  EXPECT_EQ(bursts, (std::map<std::size_t, std::size_t>{{20, 100}}));
}

/// QPs of one rate in rounds, beside a flow of single frames, one of bursts, one of messages of
/// several packets and one that ends early: what leaves is what the scheduler says frame by frame.
constexpr std::string_view kManyFlows = R"([[flow]]
qps = 100
dst_qp = 0x100
messages = 200
rate = "10 Mframes/s"
[[flow]]
dst_qp = 0x50
messages = 3000
rate = "3 Mframes/s"
[[flow]]
dst_qp = 0x60
messages = 320
burst = 20
rate = "1 Mframes/s"
[[flow]]
qps = 7
dst_qp = 0x70
messages = 40
message_size = 5000
mtu = 1024
rate = "2 Gb/s"
signature = true
fault = [{ kind = "psn_gap", frames = [3, 50] }]
[[flow]]
dst_qp = 0x80
arrival = "poisson"
messages = 100
rate = "1 Mframes/s"
)";

TEST_F(TxLoopTest, ManyFlowsLeaveInTheirOrder) {
  const config::FlowProfile profile = parsed(kManyFlows);
  Call expected;
  for (TxScheduler scheduler(profile); const auto due = scheduler.next(); scheduler.advance()) {
    expected.push_back({profile.flows[due->flow].frame.bth.dest_qp, due->fields.psn.value()});
  }
  for (const Duration step : {std::chrono::nanoseconds(300), std::chrono::nanoseconds(20'000)}) {
    Call sent;
    for (const Call& call : run(profile, step).calls) {
      sent.insert(sent.end(), call.begin(), call.end());
    }
    EXPECT_EQ(sent, expected);
  }
}

TEST_F(TxLoopTest, CountsEachFlowByItself) {
  const config::FlowProfile profile = parsed(kManyFlows);
  std::vector<FlowCounters> expected(profile.flows.size());
  for (TxScheduler scheduler(profile); const auto due = scheduler.next(); scheduler.advance()) {
    count_sent(expected[due->flow], frame_info(scheduler.cursor(due->flow)), 1);
  }
  const auto tallies = run(profile, std::chrono::microseconds(1)).tallies;
  ASSERT_EQ(tallies.size(), expected.size());
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    EXPECT_EQ(tallies[i].frames, expected[i].frames);
    EXPECT_EQ(tallies[i].bytes, expected[i].bytes);
    EXPECT_EQ(tallies[i].payload_bytes, expected[i].payload_bytes);
    EXPECT_EQ(tallies[i].messages, expected[i].messages);
    EXPECT_EQ(tallies[i].faults, expected[i].faults);
    EXPECT_EQ(tallies[i].not_sent, 0u);
    const double asked = profile.flows[i].rate.value;
    if (profile.flows[i].arrival == config::ArrivalProcess::constant) {
      EXPECT_NEAR(tallies[i].achieved(profile.flows[i].rate.unit), asked, 0.05 * asked) << i;
    }
  }
}

/// A ring without a reader takes frames until it is full.
TEST_F(TxLoopTest, WhatAPortDoesNotTakeIsCountedAsNotSent) {
  const config::FlowProfile profile =
      parsed("[[flow]]\nqps = 100\ndst_qp = 0x100\nmessages = 50\nrate = \"10 Mframes/s\"\n");
  const Run stuck = run(profile, std::chrono::microseconds(5), "net_ring0");
  std::uint64_t sent = 0;
  for (const FlowCounters& tally : stuck.tallies) {
    EXPECT_EQ(tally.frames + tally.not_sent, 50u);
    EXPECT_EQ(tally.messages, tally.frames);
    sent += tally.frames;
  }
  EXPECT_GT(sent, 0u);
  EXPECT_LT(sent, 5000u);
  // Those that came first, by flow.
  std::vector<std::uint64_t> taken(stuck.tallies.size());
  TxScheduler scheduler(profile);
  for (std::uint64_t i = 0; i < sent; ++i, scheduler.advance()) ++taken[scheduler.next()->flow];
  for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(stuck.tallies[i].frames, taken[i]);
}

/// Passes the frames that a port has received to `visit`.
template <class Visit>
void receive_all(nic::Port& port, Visit visit) {
  std::array<rte_mbuf*, 64> frames;
  while (const std::size_t count = port.receive(frames)) {
    for (rte_mbuf* frame : std::span(frames).first(count)) {
      const wire::Bytes bytes{rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len};
      EXPECT_EQ(roce::check_icrc(roce::open_envelope(bytes)), roce::IcrcVerdict::ok);
      const auto parsed = roce::parse(bytes);
      ASSERT_TRUE(parsed);
      visit(*parsed);
    }
    rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(count));
  }
}

/// Sends a profile into a ring that is read now and then. Returns the flows' counters.
template <class Visit>
std::vector<FlowCounters> send_with_stalls(nic::Eal& eal, const config::FlowProfile& profile,
                                           std::string_view ring, Visit visit) {
  auto pool = nic::Pool::create("receive2", {.buffers = 2048, .frame_size = 2000});
  auto buffers = SendBuffers::create("send2", SendBuffers::kUsual);
  auto port = nic::Port::open(eal, *nic::parse_port_spec(ring), *pool);
  if (!port) throw std::runtime_error(port.error().message);
  TxScheduler scheduler(profile);
  Limits limits;
  FrameBudget budget(Limits::kAll);
  TxLoop loop(scheduler, profile.flows.size(), {}, {&*port, 1}, *buffers, limits, budget);
  Instant now = nic::now();
  loop.start(now);
  for (int round = 0; !loop.ended(now); now += std::chrono::microseconds(5), ++round) {
    EXPECT_TRUE(loop.send_due(now));
    if (loop.not_sent()[0].total() > 0 && round % 7 == 0) receive_all(*port, visit);
  }
  receive_all(*port, visit);
  std::uint64_t not_sent = 0;
  for (const FlowCounters& flow : loop.counters()) not_sent += flow.not_sent;
  EXPECT_EQ(loop.not_sent()[0].total(), not_sent);
  const auto full = static_cast<std::size_t>(NotSentReason::ring_full);
  EXPECT_EQ(loop.not_sent()[0].frames[full], not_sent);
  return loop.counters();
}

TEST_F(TxLoopTest, AFrameThatIsNotSentConsumesNoSequenceNumber) {
  const config::FlowProfile profile = parsed(
      "[[flow]]\nqps = 20\nmessages = 500\nrate = \"10 Mframes/s\"\nsignature = true\n"
      "[[flow]]\nmessage_size = 3000\nmessages = 400\nrate = \"1 Mframes/s\"\n"
      "signature = true\n"
      "[[flow]]\nmessage_size = { min = 1, max = 3000 }\nmessages = 400\n"
      "rate = \"1 Mframes/s\"\nsignature = true\n");
  std::vector<std::vector<std::uint64_t>> numbers(profile.flows.size());
  const auto counted = send_with_stalls(*eal_, profile, "net_ring7", [&](const roce::Frame& frame) {
    const auto* signature = wire::view<wire::Signature>(frame.payload);
    if (signature != nullptr && signature->present())
      numbers.at(signature->fields().flow).push_back(signature->fields().sequence);
  });
  std::uint64_t not_sent = 0;
  for (std::size_t flow = 0; flow < numbers.size(); ++flow) {
    EXPECT_EQ(numbers[flow].size(), counted[flow].frames - counted[flow].unsigned_frames);
    for (std::size_t i = 0; i < numbers[flow].size(); ++i) ASSERT_EQ(numbers[flow][i], i) << flow;
    not_sent += counted[flow].not_sent;
  }
  EXPECT_GE(not_sent, 50u);
}

/// QPs in rounds, messages of several packets, of drawn sizes, across the wrap; READ requests,
/// which consume a PSN per response, of one size and of drawn sizes; CNPs, which consume none.
constexpr std::string_view kUnsignedFlows = R"([[flow]]
qps = 20
dst_qp = 0x100
messages = 500
rate = "10 Mframes/s"
[[flow]]
dst_qp = 0x200
message_size = 3000
mtu = 1024
messages = 400
first_psn = 0xffff80
rate = "1 Mframes/s"
[[flow]]
dst_qp = 0x201
message_size = { min = 1, max = 3000 }
mtu = 1024
messages = 400
rate = "1 Mframes/s"
[[flow]]
dst_qp = 0x202
operation = "read_request"
message_size = 5000
mtu = 1024
messages = 1000
rate = "1 Mframes/s"
[[flow]]
dst_qp = 0x203
operation = "read_request"
message_size = { min = 1, max = 9000 }
mtu = 1024
messages = 1000
rate = "1 Mframes/s"
[[flow]]
dst_qp = 0x204
operation = "cnp"
messages = 300
rate = "500 kframes/s"
)";

TEST_F(TxLoopTest, AFrameThatIsNotSentConsumesNoPsn) {
  const config::FlowProfile profile = parsed(kUnsignedFlows);
  struct Stream {
    std::uint64_t frames = 0;
    wire::Psn next;
  };
  std::map<std::uint32_t, Stream> streams;
  const auto counted = send_with_stalls(*eal_, profile, "net_ring8", [&](const roce::Frame& frame) {
    Stream& stream = streams[frame.bth->dest_qp.get()];
    const wire::Psn psn = frame.bth->psn();
    if (stream.frames++ > 0) {
      ASSERT_EQ(psn, stream.next) << frame.bth->dest_qp.get() << ' ' << stream.frames;
    }
    const bool is_read = frame.info->operation == wire::Operation::read_request;
    const std::uint32_t length = is_read ? frame.reth->fields().dma_length : 1;
    const bool is_cnp = frame.info->operation == wire::Operation::cnp;
    stream.next = psn + (is_cnp ? 0 : (length + 1023) / 1024);
  });
  for (std::size_t i = 0; i < counted.size(); ++i) {
    EXPECT_EQ(streams[profile.flows[i].frame.bth.dest_qp].frames, counted[i].frames) << i;
    EXPECT_GE(counted[i].not_sent, 1u) << i;
  }
}

/// Faults of the PSN stream stay what they are: a gap of one, or a PSN twice.
TEST_F(TxLoopTest, AFaultThatIsNotSentLeavesNoTrace) {
  const config::FlowProfile profile = parsed(
      "[[flow]]\nmessages = 9000\nburst = 32\nrate = \"50 Mframes/s\"\n"
      "fault = [{ kind = \"psn_gap\", rate = \"5%\" }, { kind = \"duplicate_psn\", "
      "rate = \"5%\" }]\n");
  std::uint64_t frames = 0, gaps = 0, repeated = 0;
  wire::Psn next;
  const auto counted = send_with_stalls(*eal_, profile, "net_ring9", [&](const roce::Frame& frame) {
    const wire::Psn psn = frame.bth->psn();
    if (frames++ > 0) {
      gaps += psn == next + 1 ? 1 : 0;
      repeated += psn + 1 == next ? 1 : 0;
      EXPECT_LE(std::abs(wire::Psn::distance(next, psn)), 1);
    }
    next = psn + 1;
  });
  const auto fault = [&](config::FaultKind kind) {
    return counted[0].faults[static_cast<std::size_t>(kind)];
  };
  EXPECT_GE(counted[0].not_sent, 100u);
  EXPECT_EQ(gaps, fault(config::FaultKind::psn_gap));
  EXPECT_EQ(repeated, fault(config::FaultKind::duplicate_psn));
}

TEST_F(TxLoopTest, CatchingUpAfterAStallHasALimit) {
  const config::FlowProfile profile =
      parsed("[[flow]]\nmessages = 300000\nrate = \"1 Mframes/s\"\n");
  auto pool = nic::Pool::create("receive3", {.buffers = 2048, .frame_size = 2000});
  auto buffers = SendBuffers::create("send3", SendBuffers::kUsual);
  auto port = nic::Port::open(*eal_, *nic::parse_port_spec("null"), *pool);
  ASSERT_TRUE(port) << port.error().message;
  for (const bool limited : {true, false}) {
    TxScheduler scheduler(profile);
    Limits limits;
    if (limited) limits.catch_up = std::chrono::milliseconds(1);
    FrameBudget budget(Limits::kAll);
    TxLoop loop(scheduler, 1, {}, {&*port, 1}, *buffers, limits, budget);
    const Instant start = nic::now();
    loop.start(start);
    ASSERT_TRUE(loop.send_due(start));
    const Instant behind = start + std::chrono::milliseconds(100);
    while (loop.ahead(behind) <= Duration{0}) ASSERT_TRUE(loop.send_due(behind));
    const std::uint64_t frames = loop.counters()[0].frames;
    EXPECT_EQ(loop.caught_up().stalls, limited ? 1u : 0u);
    if (limited) {
      EXPECT_LE(frames, 1100u);
      EXPECT_NEAR(static_cast<double>(loop.caught_up().skipped.count()), 99e6, 1e5);
    } else {
      EXPECT_GE(frames, 99'000u);
    }
  }
}

}  // namespace
}  // namespace lw::gen
