// SPDX-License-Identifier: BSD-3-Clause
// What a device sees: each rte_eth_tx_burst() call, by a callback that DPDK makes on each.
#include "gen/send/send_loop.h"

#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "nic/clock.h"
#include "roce/frame.h"

namespace lw::gen {
namespace {

/// The destination QPs of a call's frames.
using Call = std::vector<std::uint32_t>;

std::uint16_t note_call(std::uint16_t, std::uint16_t, rte_mbuf** frames, std::uint16_t count,
                        void* calls) {
  Call call;
  for (const rte_mbuf* frame : std::span(frames, count)) {
    const auto parsed = roce::parse({rte_pktmbuf_mtod(frame, const std::byte*), frame->data_len});
    call.push_back(parsed ? parsed->bth->dest_qp.get() : 0);
  }
  static_cast<std::vector<Call>*>(calls)->push_back(std::move(call));
  return count;
}

class SendLoopTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto eal = nic::Eal::start({});
    ASSERT_TRUE(eal) << eal.error().message;
    eal_.emplace(std::move(*eal));
  }
  static void TearDownTestSuite() { eal_.reset(); }

  /// The calls in which a profile leaves through a null port when the loop looks every `step`.
  std::vector<Call> calls_of(std::string_view text, Duration step) {
    auto profile = profile::parse_flow_profile(text, "x.toml");
    EXPECT_TRUE(profile) << profile.error().message;
    auto pool = nic::Pool::create("receive", {.buffers = 2048, .frame_size = 2000});
    auto buffers = SendBuffers::create("send", SendBuffers::kUsual);
    auto port = nic::Port::open(*eal_, *nic::parse_port_spec("null"), *pool);
    EXPECT_TRUE(port) << port.error().message;
    std::vector<Call> calls;
    const auto* callback = rte_eth_add_tx_callback(port->id(), 0, note_call, &calls);
    Scheduler scheduler(*profile);
    Limits limits;
    FrameBudget budget(Limits::kAll);
    SendLoop loop(scheduler, profile->flows.size(), {}, {&*port, 1}, *buffers, limits, budget);
    Instant now = nic::now();
    loop.start(now);
    for (; !loop.ended(now); now += step) EXPECT_TRUE(loop.send_due(now));
    rte_eth_remove_tx_callback(port->id(), 0, callback);  // it would outlive the port
    return calls;
  }

  static inline std::optional<nic::Eal> eal_;
};

TEST_F(SendLoopTest, ABurstOf32IsOneCall) {
  const auto calls = calls_of("[[flow]]\nburst = 32\nmessages = 3200\nrate = \"320 kframes/s\"\n",
                              std::chrono::microseconds(7));
  ASSERT_EQ(calls.size(), 100u);
  for (const Call& call : calls) EXPECT_EQ(call.size(), 32u);
}

TEST_F(SendLoopTest, ABurstOfWholeMessagesIsOneCall) {
  const auto calls = calls_of(
      "[[flow]]\nburst = 32\nmessages = 800\nmessage_size = 4096\nmtu = 1024\n"
      "rate = \"320 kframes/s\"\n",
      std::chrono::microseconds(7));
  ASSERT_EQ(calls.size(), 100u);
  for (const Call& call : calls) EXPECT_EQ(call.size(), 32u);
}

/// Another flow's frames are due at the same times, and go before or behind a burst, not into it.
TEST_F(SendLoopTest, ABurstIsOneCallBesideOtherFlows) {
  const auto calls = calls_of(
      "[[flow]]\ndst_qp = 1\nmessages = 5000\nrate = \"500 kframes/s\"\n"
      "[[flow]]\ndst_qp = 2\nburst = 20\nmessages = 2000\nrate = \"200 kframes/s\"\n",
      std::chrono::microseconds(50));
  std::map<std::size_t, std::size_t> bursts;  // frames of the second flow in a call: so many calls
  std::size_t frames = 0;
  for (const Call& call : calls) {
    frames += call.size();
    const auto of_burst = static_cast<std::size_t>(std::ranges::count(call, 2u));
    if (of_burst > 0) ++bursts[of_burst];
  }
  EXPECT_EQ(frames, 7000u);
  EXPECT_EQ(bursts, (std::map<std::size_t, std::size_t>{{20, 100}}));
}

}  // namespace
}  // namespace lw::gen
