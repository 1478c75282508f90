// SPDX-License-Identifier: BSD-3-Clause
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "gen/traffic/tx_scheduler.h"

namespace lw::gen {
namespace {

config::FlowProfile parsed(std::string_view text) {
  auto profile = config::parse_flow_profile(text, "x.toml");
  EXPECT_TRUE(profile) << profile.error().message;
  return *profile;
}

TEST(TxScheduler, MergesByTimeThenByPlace) {
  const auto profile = parsed(R"([[flow]]
rate = "1 kframes/s"
messages = 2
[[flow]]
rate = "2 kframes/s"
messages = 3
)");
  TxScheduler scheduler(profile);
  std::vector<std::pair<std::int64_t, std::size_t>> order;
  while (const auto due = scheduler.next()) {
    order.emplace_back(due->at.count() / 1000, due->flow);
    scheduler.advance();
  }
  EXPECT_EQ(order, (decltype(order){{0, 0}, {0, 1}, {500, 1}, {1000, 0}, {1000, 1}}));
  EXPECT_EQ(scheduler.cursor(0).pacer().span(), std::chrono::milliseconds(2));
}

/// Mostly short, sometimes 0, sometimes longer than any wheel.
Duration any_gap(std::mt19937_64& random) {
  const std::int64_t reach = std::int64_t{1} << random() % 40;
  return Duration(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(reach)));
}

/// The gap of flows of one rate, with rounding and a rare pause.
Duration even_gap(std::mt19937_64& random) {
  return random() % 500 == 0 ? any_gap(random)
                             : Duration(2000 + static_cast<std::int64_t>(random() % 2));
}

/// Takes the batch's first flows at once, as far as none is due again before the next one.
template <class Ends, class Gap>
void take_batch(FlowQueue& queue, std::set<DueFlow>& expected, Ends ends, Gap gap) {
  std::vector<Duration> next;
  std::vector<DueFlow> again;
  Duration until = queue.batch_until();
  for (const DueFlow& due : queue.batch()) {
    if (due.at >= until) break;
    ASSERT_EQ(due, *expected.begin());
    expected.erase(expected.begin());
    next.push_back(ends() ? FlowQueue::kNever : due.at + gap());
    if (next.back() != FlowQueue::kNever) again.push_back({next.back(), due.flow});
    until = std::min(until, next.back());
  }
  expected.insert(again.begin(), again.end());
  if (!next.empty()) queue.reschedule(next);
}

template <class Ends, class Gap>
void take_one(FlowQueue& queue, std::set<DueFlow>& expected, Ends ends, Gap gap) {
  const DueFlow first = *expected.begin();
  expected.erase(expected.begin());
  if (ends()) {
    queue.remove_first();
    return;
  }
  const DueFlow again{first.at + gap(), first.flow};
  queue.reschedule_first(again.at);
  expected.insert(again);
}

/// Against a set, which is sorted by definition: near and far due times, ties, flows that end,
/// flows taken one by one and in batches.
TEST(FlowQueue, KeepsTheOrderOfASortedSet) {
  std::mt19937_64 random(1);
  for (const bool even : {false, true}) {
    for (const std::int64_t slot : {1, 64, 100'000}) {
      const auto gap = [&] { return even ? even_gap(random) : any_gap(random); };
      const auto ends = [&] { return random() % 500 == 0; };
      std::vector<DueFlow> due;
      for (std::uint32_t flow = 0; flow < 300; ++flow) {
        due.push_back({Duration(static_cast<std::int64_t>(random() % 2000)), flow});
      }
      FlowQueue queue(due.size(), Duration(slot), due);
      std::set<DueFlow> expected(due.begin(), due.end());
      for (int i = 0; i < 20'000 && !expected.empty(); ++i) {
        ASSERT_EQ(queue.first(), *expected.begin());
        if (expected.size() > 1) {
          ASSERT_LE(queue.second_from(), std::next(expected.begin())->at);
        }
        random() % 3 == 0 ? take_batch(queue, expected, ends, gap)
                          : take_one(queue, expected, ends, gap);
      }
      ASSERT_EQ(queue.empty(), expected.empty());
    }
  }
}

/// A flow's frames don't depend on the number of cores.
TEST(TxScheduler, AFlowsFramesAreTheSameOnAnyNumberOfCores) {
  const auto profile = parsed(R"(seed = 3
[[flow]]
qps = 5
operation = "write"
message_size = { min = 0, max = 3000 }
messages = 20
arrival = "poisson"
signature = true
[[flow]]
name = "b"
messages = 30
payload = "prbs31"
fault = [{ kind = "bad_icrc", rate = "20%" }]
)");
  using Sent = std::pair<std::int64_t, std::vector<std::byte>>;
  const auto frames_on = [&](std::uint16_t cores) {
    std::vector<std::vector<Sent>> flows(profile.flows.size());
    for (std::uint16_t core = 0; core < cores; ++core) {
      const CoreShare share{core, cores};
      const auto part = flows_of(profile, share);
      TxScheduler scheduler(part);
      for (; const auto due = scheduler.next(); scheduler.advance()) {
        std::vector<std::byte> bytes(due->size());
        due->frame->write(due->fields, bytes);
        flows[share.flow(due->flow)].emplace_back(due->at.count(), std::move(bytes));
      }
    }
    return flows;
  };
  const auto alone = frames_on(1);
  EXPECT_EQ(frames_on(2), alone);
  EXPECT_EQ(frames_on(3), alone);
  EXPECT_EQ(frames_on(9), alone);
  EXPECT_EQ(alone.back().size(), 30u);
}

TEST(TxScheduler, AFlowWithoutEndGoesOn) {
  const auto profile = parsed("[[flow]]\nrepeat = \"forever\"\nmessages = 1\n");
  TxScheduler scheduler(profile);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_TRUE(scheduler.next());
    scheduler.advance();
  }
  EXPECT_EQ(scheduler.cursor(0).total_frames(), std::nullopt);
}

TEST(FlowCursor, AddressesStartAgainWithEachRound) {
  const auto profile = parsed(R"([[flow]]
operation = "write"
va = 0x1000
message_size = 100
messages = 3
repeat = 2
)");
  LayoutCache layouts;
  PayloadPool payloads(1);
  std::vector<std::uint64_t> addresses;
  for (FlowCursor cursor(profile.flows[0], layouts, payloads); cursor.has_next();
       cursor.advance()) {
    addresses.push_back(cursor.fields().va - 0x1000);
  }
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{0, 100, 200, 0, 100, 200}));
}

TEST(FlowCursor, ARegionIsARing) {
  const auto profile = parsed(R"([[flow]]
operation = "fetch_add"
va = 0x1000
region = 16
messages = 5
)");
  LayoutCache layouts;
  PayloadPool payloads(1);
  std::vector<std::uint64_t> addresses;
  for (FlowCursor cursor(profile.flows[0], layouts, payloads); cursor.has_next();
       cursor.advance()) {
    addresses.push_back(cursor.fields().va - 0x1000);
  }
  EXPECT_EQ(addresses, (std::vector<std::uint64_t>{0, 8, 0, 8, 0}));
}

TEST(FlowCursor, AReadTakesThePsnsOfItsResponse) {
  const auto profile = parsed(R"([[flow]]
operation = "read_request"
message_size = 5000
mtu = 2048
messages = 3
first_psn = 0xfffffe
)");
  LayoutCache layouts;
  PayloadPool payloads(1);
  std::vector<std::uint32_t> psns;
  for (FlowCursor cursor(profile.flows[0], layouts, payloads); cursor.has_next();
       cursor.advance()) {
    psns.push_back(cursor.fields().psn.value());
  }
  EXPECT_EQ(psns, (std::vector<std::uint32_t>{0xfffffe, 1, 4}));
}

TEST(FlowCursor, AMessageCostsAllItsFrames) {
  const auto profile = parsed("[[flow]]\nmessage_size = 2500\n");
  LayoutCache layouts;
  PayloadPool payloads(1);
  const FlowCursor cursor(profile.flows[0], layouts, payloads);
  EXPECT_EQ(profile.flows[0].means.frames, 3);
  // 14 + 20 + 8 + 12 + payload + 4, and 24 a frame.
  EXPECT_EQ(profile.flows[0].means.wire_bytes, 2500 + 3 * 82);
  EXPECT_EQ(cursor.total_frames(), 3000u);
}

}  // namespace
}  // namespace lw::gen
