// SPDX-License-Identifier: BSD-3-Clause
// When frames are due, in virtual time; statistics are held to bounds that chance alone exceeds
// once in a million runs, and the seed is fixed.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "gen/traffic/tx_scheduler.h"

namespace lw::gen {
namespace {

struct Sent {
  double at_s = 0;
  std::size_t flow = 0;
  std::uint64_t wire_bytes = 0, payload_bytes = 0;
  bool ends_message = false;
};

std::vector<Sent> run(std::string_view text, std::size_t most = 1'000'000) {
  const auto profile = config::parse_flow_profile(text, "x.toml");
  if (!profile) {
    ADD_FAILURE() << profile.error().message;
    return {};
  }
  TxScheduler scheduler(*profile);
  std::vector<Sent> sent;
  while (sent.size() < most) {
    const auto due = scheduler.next();
    if (!due) break;
    sent.push_back({static_cast<double>(due->at.count()) * 1e-9, due->flow, wire_bytes(due->size()),
                    due->frame->payload_length(due->fields), due->ends_message});
    scheduler.advance();
  }
  return sent;
}

TEST(Arrival, PoissonGapsAreExponential) {
  constexpr int kFrames = 100'000;
  const auto sent =
      run("[[flow]]\narrival = \"poisson\"\nrate = \"1 kframes/s\"\nmessages = 100001\n");
  std::vector<double> gaps;
  for (std::size_t i = 1; i < sent.size(); ++i) gaps.push_back(sent[i].at_s - sent[i - 1].at_s);
  ASSERT_EQ(gaps.size(), std::size_t{kFrames});
  double mean = 0, square = 0;
  for (const double gap : gaps) {
    mean += gap / kFrames;
    square += gap * gap / kFrames;
  }
  // An exponential's mean and deviation are 1 ms; its square's deviation is sqrt(20) ms^2.
  const double sigmas = 4.9 / std::sqrt(kFrames);
  EXPECT_NEAR(mean, 1e-3, sigmas * 1e-3);
  EXPECT_NEAR(square, 2e-6, sigmas * std::sqrt(20) * 1e-6);
  // Kolmogorov and Smirnov.
  std::ranges::sort(gaps);
  double worst = 0;
  for (int i = 0; i < kFrames; ++i) {
    const double expected = 1 - std::exp(-gaps[static_cast<std::size_t>(i)] / 1e-3);
    worst = std::max({worst, std::abs(expected - i / double{kFrames}),
                      std::abs(expected - (i + 1) / double{kFrames})});
  }
  EXPECT_LT(worst, std::sqrt(std::log(2e6) / (2.0 * kFrames)));
}

TEST(Arrival, PoissonMessagesOfAnySizeKeepTheLoad) {
  const auto sent = run(R"([[flow]]
arrival = "poisson"
burst = "message"
message_size = { min = 1, max = 20000 }
rate = "1Gb/s"
messages = 20000
)");
  double bits = 0;
  for (const Sent& frame : sent) bits += 8.0 * static_cast<double>(frame.wire_bytes);
  // Gaps vary by their mean, sizes by a uniform's 1/sqrt(3) of theirs.
  EXPECT_NEAR(bits / sent.back().at_s / 1e9, 1, 4.9 * std::sqrt(1 + 1.0 / 3) / std::sqrt(20000));
  for (std::size_t i = 1; i < sent.size(); ++i) {
    ASSERT_EQ(sent[i].at_s == sent[i - 1].at_s, !sent[i - 1].ends_message) << i;
  }
}

TEST(Arrival, OnOffKeepsTheMeanAndThePauses) {
  const auto sent = run(R"([[flow]]
arrival = "on_off"
on = "2ms"
off = "8ms"
rate = "10 kframes/s"
messages = 10000
)");
  for (std::size_t i = 0; i < sent.size(); ++i) {
    // 100 frames in each 2 ms, 50 a ms; then 8 ms of silence.
    const double expected =
        static_cast<double>(i / 100) * 10e-3 + static_cast<double>(i % 100) * 20e-6;
    ASSERT_NEAR(sent[i].at_s, expected, 2e-9) << i;
  }
}

TEST(Arrival, GoodputAndMessagesAreMeant) {
  const auto goodput = run(R"([[flow]]
message_size = 2500
goodput = "8Gb/s"
messages = 1000
)");
  ASSERT_EQ(goodput.size(), 3000u);
  EXPECT_NEAR(goodput[3].at_s, 2.5e-6, 1e-9);
  EXPECT_NEAR(goodput[2997].at_s, 999 * 2.5e-6, 1e-9);
  const auto messages =
      run("[[flow]]\nmessage_size = 4000\nrate = \"1 kmessages/s\"\nmessages = 100\n");
  ASSERT_EQ(messages.size(), 400u);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    ASSERT_NEAR(messages[i].at_s, static_cast<double>(i) * 0.25e-3, 2e-9) << i;
  }
}

TEST(Arrival, AMessageLeavesAsOne) {
  const auto sent = run(
      "[[flow]]\nmessage_size = 4000\nburst = \"message\"\nrate = \"4 kframes/s\"\nmessages = 3\n");
  ASSERT_EQ(sent.size(), 12u);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    EXPECT_NEAR(sent[i].at_s, static_cast<double>(i / 4) * 1e-3, 1e-9);
  }
}

TEST(Arrival, BackToBackFillsTheLink) {
  const auto sent =
      run("link = \"8Gb/s\"\n[[flow]]\narrival = \"back_to_back\"\nmessages = 1000\n");
  EXPECT_NEAR(sent.back().at_s, 999 * 1106e-9, 1e-9);
}

TEST(Arrival, FlowsStartAndStopWhenTheyShould) {
  const auto sent = run(R"([[flow]]
rate = "1 kframes/s"
repeat = "forever"
start_after = "10ms"
stop_after = "20ms"
)");
  ASSERT_EQ(sent.size(), 10u);
  EXPECT_NEAR(sent.front().at_s, 10e-3, 1e-9);
  EXPECT_NEAR(sent.back().at_s, 19e-3, 1e-9);
}

TEST(Arrival, TheQpsOfARangeTakeTurns) {
  const auto sent = run("[[flow]]\nqps = 8\nrate = \"8 kframes/s\"\nmessages = 100\n");
  ASSERT_EQ(sent.size(), 800u);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    ASSERT_EQ(sent[i].flow, i % 8);
    ASSERT_NEAR(sent[i].at_s, static_cast<double>(i) / 8000, 2e-9);
  }
}

TEST(FlowCursor, AnotherFlowLeavesTheDrawsAlone) {
  const auto sizes = [](std::string_view before) {
    std::vector<std::uint64_t> result;
    for (const Sent& frame : run(std::string(before) + R"([[flow]]
name = "x"
message_size = { min = 0, max = 1000 }
messages = 50
start_after = "1s"
)")) {
      if (frame.at_s >= 1) result.push_back(frame.payload_bytes);
    }
    return result;
  };
  EXPECT_EQ(sizes(""), sizes("[[flow]]\nqps = 3\nmessages = 2\n"));
  EXPECT_EQ(sizes("").size(), 50u);
}

TEST(FlowCursor, TenThousandQpsAreMadeFast) {
  const auto profile = config::parse_flow_profile(
      "[[flow]]\nqps = 10000\noperation = \"write\"\nmessage_size = 3000\n", "x.toml");
  ASSERT_TRUE(profile);
  TxScheduler scheduler(*profile);
  for (std::size_t i = 0; i < 10000; ++i) {
    ASSERT_EQ(scheduler.next()->flow, i);
    scheduler.advance();
  }
}

}  // namespace
}  // namespace lw::gen
