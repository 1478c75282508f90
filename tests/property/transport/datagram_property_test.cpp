// SPDX-License-Identifier: BSD-3-Clause
// Unreliable services deliver whole messages or none, whatever the path does.
#include "support/property.h"
#include "support/transport_lab.h"

namespace lw::test {
namespace {

using transport::WorkRequest;
using wire::Operation;
using wire::Transport;

constexpr std::uint32_t kMtu = 256, kGrh = 40;
constexpr std::uint64_t kSlot = 2048;  // of a message: as many as fit the memory
constexpr std::uint32_t kMessages = 16;

std::byte pattern(std::uint32_t message, std::size_t i) {
  return static_cast<std::byte>(i * 7 + message * 41 + 1);
}

/// Every message that arrives is one that was sent, byte by byte.
void deliver_whole_or_nothing(Transport transport) {
  LabConfig config;
  config.qp.transport = transport;
  config.qp.mtu = kMtu;
  for (auto* faults : {&config.there, &config.back}) {
    faults->loss = *rc::gen::inRange(0, 200) / 1000.0;
    faults->duplication = *rc::gen::inRange(0, 200) / 1000.0;
    faults->reordering = *rc::gen::inRange(0, 200) / 1000.0;
    faults->corruption = *rc::gen::inRange(0, 200) / 1000.0;
    faults->reorder_delay = Duration{*rc::gen::inRange(100, 10'000)};
    faults->seed = *rc::gen::arbitrary<std::uint32_t>();
  }
  Lab lab(config);
  const std::uint32_t longest = transport == Transport::ud ? kMtu : 1500;
  std::vector<std::uint32_t> lengths;
  for (std::uint32_t m = 0; m < kMessages; ++m) {
    lengths.push_back(*rc::gen::inRange(0u, longest + 1));
    const std::uint64_t va = kLabVa + m * kSlot;
    const auto bytes = lab.client->memory().bytes(va, kSlot);
    for (std::size_t i = 0; i < kSlot; ++i) bytes[i] = pattern(m, i);
    // A duplicated datagram takes a receive too.
    for (int twice = 0; twice < 2; ++twice) {
      const std::uint64_t slot = m + static_cast<std::uint64_t>(twice) * kMessages;
      const auto to = static_cast<std::uint32_t>(kSlot);
      lab.server->post(0,
                       transport::Receive{.id = slot, .va = kLabVa + slot * kSlot, .length = to});
    }
  }
  for (std::uint32_t m = 0; m < kMessages; ++m) {
    RC_ASSERT(lab.post({.id = m,
                        .operation = Operation::send,
                        .immediate = true,
                        .length = lengths[m],
                        .word = m,
                        .dest_qp = sim::Host::qpn_of(0),
                        .local_va = kLabVa + m * kSlot,
                        .dest_host = lab.server->number()}));
  }
  RC_ASSERT(lab.run());
  RC_ASSERT(lab.completions.size() == kMessages);
  for (std::size_t a = 0; a < lab.arrivals.size(); ++a) {
    const auto& arrival = lab.arrivals[a];
    RC_ASSERT(arrival.id < 2 * kMessages);
    RC_ASSERT(arrival.length == lengths[arrival.word]);
    const std::uint32_t skip = transport == Transport::ud ? kGrh : 0;
    const auto got = lab.server->memory().bytes(kLabVa + arrival.id * kSlot + skip, arrival.length);
    for (std::size_t i = 0; i < got.size(); ++i) RC_ASSERT(got[i] == pattern(arrival.word, i));
  }
  const bool mild = config.there.loss + config.there.corruption + config.there.reordering == 0;
  if (mild && transport == Transport::ud) RC_ASSERT(lab.arrivals.size() >= kMessages);
  RC_ASSERT(lab.simulation.store().in_use() == 0u);
}

RC_GTEST_PROP(Datagrams, uc_messages_arrive_whole_or_not, ()) {
  deliver_whole_or_nothing(Transport::uc);
}
RC_GTEST_PROP(Datagrams, ud_messages_arrive_whole_or_not, ()) {
  deliver_whole_or_nothing(Transport::ud);
}

}  // namespace
}  // namespace lw::test
