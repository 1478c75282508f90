// SPDX-License-Identifier: BSD-3-Clause
// The responder's look at what arrives, against the client that made it, with
// something between the two that loses, damages and copies packets.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "gen/perf/session/endpoint.h"
#include "gen/perf/traffic/client_traffic.h"

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
      : client_(qps_, qp_of(params, kClient, kServer), MemoryLayout::region(params), at(2), {},
                store_),
        server_(qps_, qp_of(params, kServer, kClient), MemoryLayout::region(params), at(1), {},
                store_),
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

 private:
  static OwnAddress at(std::uint8_t host) {
    return {{}, wire::Ipv4Address{{std::byte{198}, std::byte{18}, {}, std::byte{host}}}};
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

INSTANTIATE_TEST_SUITE_P(Services, WhatArrives,
                         testing::Values(params(Transport::rc, Operation::send, false, 5000),
                                         params(Transport::rc, Operation::write, true, 5000),
                                         params(Transport::uc, Operation::send, false, 5000),
                                         params(Transport::uc, Operation::write, false, 5000),
                                         params(Transport::uc, Operation::write, true, 5000),
                                         params(Transport::ud, Operation::send, false, kMtu),
                                         params(Transport::ud, Operation::send, true, 16)));

}  // namespace
}  // namespace lw::gen
