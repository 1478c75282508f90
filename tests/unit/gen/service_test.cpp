// SPDX-License-Identifier: BSD-3-Clause
// The responder's look at what arrives, against the client that made it, with
// something between the two that loses, damages and copies packets.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gen/perf/session/endpoint.h"
#include "gen/perf/traffic/client_traffic.h"
#include "support/responder_lab.h"

namespace lw::gen {
namespace {

using transport::Packet;
using wire::Operation, wire::Transport;

constexpr std::uint32_t kMtu = 1024, kMessages = 20, kSlots = 4;
constexpr std::uint32_t kClient = 0x11, kServer = 0x12;

struct Disposition {
  bool lost = false, damaged = false, twice = false;
  bool stale = false;  // its bytes are those of the packet that used its slot before
};

/// QPs whose packets the test moves itself.
class ManualQps : public transport::QpSet {
 public:
  bool post(std::uint32_t number, const transport::WorkRequest& request, Instant now) override {
    return qp(number).post(request, now);
  }
};

/// A client and a responder of one connection.
class Both {
 public:
  explicit Both(const SessionParams& params)
      : client_(qps_, qp_of(params, kClient, kServer), region(Side::client, kClient, params),
                {at(2)}, client_channel_, store_),
        server_(qps_, qp_of(params, kServer, kClient), region(Side::responder, kServer, params),
                {at(1)}, server_channel_, store_),
        sender_({.connection = &client_,
                 .params = params,
                 .remote = {.va = MemoryLayout(kServer, params).inbox(),
                            .r_key = MemoryLayout::r_key_of(kServer)}}),
        service_(server_, params),
        params_(params) {}

  /// Moves kMessages; `fate_of` says what happens to the n-th request packet.
  ServerStats run(const std::function<Disposition(std::uint64_t n)>& fate_of) {
    const Instant now;
    std::uint64_t n = 0;
    for (bool more = true; more;) {
      while (sender_.posted() < kMessages && sender_.post(now)) {
      }
      Packet packet;
      more = qps_.qp(0).next(now, packet);
      if (more) cross(packet, fate_of(n++), now);
      for (Packet answer; qps_.qp(1).next(now, answer); answer = {}) {
        qps_.qp(0).receive(answer, now);
      }
      while (!qps_.qp(0).completions().empty()) qps_.qp(0).completions().pop();
    }
    return service_.stats();
  }
  [[nodiscard]] std::uint64_t compared() const noexcept { return service_.compared(); }

 private:
  static OwnAddress at(std::uint8_t host) {
    return {{}, wire::Ipv4Address{{std::byte{198}, std::byte{18}, {}, std::byte{host}}}};
  }
  static Connection::Region region(Side side, std::uint32_t qpn, const SessionParams& params) {
    return Connection::Region::of(
        side, qpn, kClient, params,
        params.lossy() ? PatternMemory::Numbers::in_message : PatternMemory::Numbers::counted);
  }
  static transport::QpConfig qp_of(const SessionParams& params, std::uint32_t own,
                                   std::uint32_t peer) {
    transport::QpConfig qp;
    qp.transport = params.transport;
    qp.mtu = kMtu;
    qp.qpn = own;
    qp.dest_qpn = peer;
    qp.tx_depth = params.depth;
    qp.report_writes = true;
    return qp;
  }
  void cross(Packet packet, const Disposition& fate, Instant now) {
    const auto bytes = store_.bytes(packet.data, packet.payload);
    const std::size_t before = kSlots * transport::packets_of(params_.size, kMtu);
    if (fate.stale) std::ranges::copy(sent_[sent_.size() - before], bytes.begin());
    sent_.emplace_back(bytes.begin(), bytes.end());
    if (fate.damaged) store_.bytes(packet.data, packet.payload).back() ^= std::byte{1};
    for (int i = fate.lost ? 0 : fate.twice ? 2 : 1; i > 0; --i) {
      qps_.qp(1).receive(packet, now);
      auto& arrivals = qps_.qp(1).arrivals();
      for (; !arrivals.empty(); arrivals.pop())
        service_.on_completion(qps_, 1, arrivals.front(), now);
    }
    store_.release(packet.data);
  }

  transport::PayloadStore store_;
  ManualQps qps_;
  test::TestChannel client_channel_{at(1)}, server_channel_{at(2)};
  Connection client_, server_;
  ClientConnection sender_;
  PerfService service_;
  SessionParams params_;
  std::vector<std::vector<std::byte>> sent_;  // payloads, in order
};

class WhatArrives : public testing::TestWithParam<SessionParams> {
 protected:
  [[nodiscard]] static std::uint64_t packets() {
    return transport::packets_of(GetParam().size, kMtu);
  }
};

TEST_P(WhatArrives, is_right_when_nothing_happened) {
  const ServerStats found = Both(GetParam()).run([](std::uint64_t) { return Disposition{}; });
  EXPECT_EQ(found, (ServerStats{.checked = kMessages}));
}

TEST_P(WhatArrives, is_wrong_when_a_byte_is) {
  const ServerStats found = Both(GetParam()).run([&](std::uint64_t n) {
    return Disposition{.damaged = n == 7 * packets()};
  });
  EXPECT_EQ(found, (ServerStats{.checked = kMessages, .wrong = 1}));
}

/// A packet of an older message that used the same slot, of this QP and at this
/// offset.
TEST_P(WhatArrives, is_wrong_when_a_packet_is_an_old_one) {
  if (packets() == 1) return;  // a whole old message is a duplicate
  const ServerStats found = Both(GetParam()).run([&](std::uint64_t n) {
    return Disposition{.stale = n == 7 * packets() + 1};
  });
  EXPECT_EQ(found, (ServerStats{.checked = kMessages, .wrong = 1}));
}

TEST(Content, differs_by_side_qp_message_and_offset) {
  constexpr std::size_t kSize = 4096, kPart = 64;
  std::set<std::string> parts;
  std::size_t all = 0;
  for (const Side side : {Side::client, Side::responder})
    for (const std::uint32_t qpn : {0x11U, 0x12U, 0x1100U})
      for (const std::uint64_t number : {0U, 1U, 2U, 256U}) {
        std::vector<std::byte> message(kSize);
        const PayloadPattern pattern(side, qpn);
        pattern.write(message, number);
        EXPECT_TRUE(pattern.holds(message, number));
        EXPECT_FALSE(pattern.holds(message, number + 1));
        for (std::size_t at = kPart; at < kSize; at += kPart, ++all)
          parts.emplace(reinterpret_cast<const char*>(message.data() + at), kPart);
        PayloadPattern::clear(message);
        EXPECT_FALSE(pattern.holds(message, number));
      }
  EXPECT_EQ(parts.size(), all);
}

/// Packets and READs begin anywhere in a message.
TEST(Content, has_parts_that_are_those_of_the_whole) {
  const PayloadPattern pattern(Side::client, 0x11);
  for (const std::size_t size : {1U, 7U, 8U, 9U, 100U}) {
    std::vector<std::byte> whole(size);
    pattern.write(whole, 5);
    for (std::size_t at = 0; at < size; ++at)
      for (std::size_t length = 1; at + length <= size; ++length) {
        std::vector<std::byte> part(length);
        pattern.write_part(part, at, size, 5);
        ASSERT_TRUE(std::ranges::equal(part, std::span(whole).subspan(at, length)));
        ASSERT_TRUE(pattern.holds_part(part, at, size, 5));
        for (std::byte& each : part) {
          each ^= std::byte{0x80};
          ASSERT_FALSE(pattern.holds_part(part, at, size, 5)) << size << ' ' << at;
          each ^= std::byte{0x80};
        }
      }
  }
}

TEST(Content, is_compared_as_the_client_asks) {
  for (const auto& [verify, wrong] :
       {std::pair{Verify::all, 1U}, {Verify::sampled, 0U}, {Verify::none, 0U}})
    for (const bool computed : {false, true}) {
      SessionParams params{.size = 5000, .slots = kSlots, .depth = kSlots, .verify = verify};
      params.computed = computed;
      Both both(params);
      const ServerStats found = both.run([](std::uint64_t n) {
        return Disposition{.damaged = n == 5 * 7};  // of message 7, which no sample has
      });
      EXPECT_EQ(found, (ServerStats{.checked = kMessages, .wrong = wrong}));
      EXPECT_EQ(both.compared(), verified_of(verify, kMessages));
      EXPECT_EQ(Both(params)
                    .run([](std::uint64_t n) { return Disposition{.damaged = n == 5 * 16}; })
                    .wrong,
                verify == Verify::none ? 0U : 1U);
    }
}

/// A peer may READ any bytes of the region, and write where no message belongs.
TEST(Content, is_of_the_slots_message_and_zero_elsewhere) {
  const SessionParams params{
      .operation = Operation::read_request, .size = 100, .slots = 3, .depth = 3};
  PatternMemory memory(Side::responder, kServer, kClient, params, PatternMemory::Numbers::counted);
  const MemoryLayout layout(kServer, params);
  const std::uint64_t size = MemoryLayout::region(params);
  const PayloadPattern pattern(Side::responder, kClient);
  const std::uint64_t outbox = layout.outbox() - MemoryLayout::va_of(kServer);
  for (std::uint64_t filled = 0; filled < 8; ++filled, memory.fill()) {
    std::vector<std::byte> expected(size), found(size, std::byte{0xee});
    for (std::uint64_t n = filled < 3 ? 0 : filled - 3; n < filled; ++n)
      pattern.write(std::span(expected).subspan(outbox + n % 3 * 100, 100), n);
    memory.read(MemoryLayout::va_of(kServer), found);
    EXPECT_EQ(found, expected) << filled;
    memory.read(MemoryLayout::va_of(kServer) + outbox - 5, std::span(found).first(250));
    EXPECT_TRUE(std::ranges::equal(std::span(found).first(250),
                                   std::span(expected).subspan(outbox - 5, 250)));
  }
}

TEST(Content, is_wrong_in_another_place) {
  const SessionParams params{.size = 100, .slots = 3, .depth = 3, .verify = Verify::none};
  const MemoryLayout layout(kServer, params);
  std::vector<std::byte> message(100);
  const auto found = [&](std::uint64_t va, std::size_t length) {
    PatternMemory memory(Side::responder, kServer, kClient, params,
                         PatternMemory::Numbers::counted);
    memory.write(va, std::span(message).first(length));
    return memory.pop_message().right;
  };
  EXPECT_TRUE(found(layout.inbox(), 100));
  EXPECT_FALSE(found(layout.inbox(), 99));
  EXPECT_FALSE(found(layout.inbox(1), 100));
  EXPECT_FALSE(found(layout.inbox() + 1, 99));
  EXPECT_FALSE(found(layout.outbox(), 100));
}

/// Selective repeat delivers at once what it kept behind a gap.
TEST(Content, may_be_several_messages_before_the_first_is_taken) {
  SessionParams params{.size = 100, .slots = 3, .depth = 3};
  params.selective_repeat = true;
  const MemoryLayout layout(kServer, params);
  PatternMemory memory(Side::responder, kServer, kClient, params, PatternMemory::Numbers::counted);
  std::vector<std::byte> message(100);
  for (std::uint64_t n = 0; n < 3; ++n) {
    PayloadPattern(Side::client, kClient).write(message, n == 1 ? 7 : n);
    memory.write(layout.inbox(n), message);
  }
  EXPECT_TRUE(memory.pop_message().right);
  EXPECT_FALSE(memory.pop_message().right);
  EXPECT_TRUE(memory.pop_message().right);
  EXPECT_FALSE(memory.pop_message().right);  // none arrived
}

TEST_P(WhatArrives, is_whole_or_nothing_where_a_packet_is_lost) {
  const ServerStats found = Both(GetParam()).run([&](std::uint64_t n) {
    return Disposition{.lost = n == 7 * packets()};
  });
  const bool again = GetParam().transport == Transport::rc;  // is sent again
  EXPECT_EQ(found.checked, again ? kMessages : kMessages - 1);
  EXPECT_EQ(found.wrong, 0u);
  EXPECT_EQ(found.dropped, again ? 0 : packets() - 1);
}

TEST_P(WhatArrives, is_told_once_though_it_comes_twice) {
  const ServerStats found = Both(GetParam()).run([&](std::uint64_t n) {
    return Disposition{.twice = n == 7 * packets()};
  });
  EXPECT_EQ(found.wrong, 0u);
  if (GetParam().transport == Transport::ud) {
    EXPECT_EQ(found, (ServerStats{.checked = kMessages + 1, .duplicates = 1}));
  } else if (GetParam().transport == Transport::rc) {
    EXPECT_EQ(found, (ServerStats{.checked = kMessages, .duplicates = 1}));
  } else {
    EXPECT_EQ(found.checked + (found.dropped > 0 ? 1 : 0),
              kMessages);  // a copy costs its message
  }
}

SessionParams params(Transport transport, Operation operation, bool immediate, std::uint32_t size) {
  return {.transport = transport,
          .operation = operation,
          .immediate = immediate,
          .size = size,
          .slots = kSlots,
          .depth = kSlots};
}

/// Each service with stored messages, and with computed ones.
std::vector<SessionParams> services() {
  std::vector<SessionParams> all = {params(Transport::rc, Operation::send, false, 5000),
                                    params(Transport::rc, Operation::write, true, 5000),
                                    params(Transport::uc, Operation::send, false, 5000),
                                    params(Transport::uc, Operation::write, false, 5000),
                                    params(Transport::uc, Operation::write, true, 5000),
                                    params(Transport::ud, Operation::send, false, kMtu),
                                    params(Transport::ud, Operation::send, true, 16)};
  for (std::size_t i = 0, stored = all.size(); i < stored; ++i) {
    all.push_back(all[i]);
    all.back().computed = true;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Services, WhatArrives, testing::ValuesIn(services()));

}  // namespace
}  // namespace lw::gen
