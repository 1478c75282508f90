// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "impair/datapath/way.h"
#include "nic/eal.h"

namespace lw::impair {

/// The clock of ways, which the test sets.
inline Instant told;
inline Instant tell() noexcept { return told; }

/// Two ring ports, which are closed for good with it. Such a port receives what it sent: what is to
/// come in is put there right before the turn, and what went out taken right behind it.
class RingPorts {
 public:
  RingPorts(const nic::Eal& eal, std::array<std::size_t, 2> numbers)
      : numbers_(numbers),
        pool_(nic::Pool::create("way", {.buffers = 8192, .frame_size = 2048}).value()) {
    for (const std::size_t number : numbers)
      ports_.push_back(
          nic::Port::open(eal, nic::parse_port_spec(name(number)).value(), pool_).value());
  }
  static std::string name(std::size_t number) { return "net_ring" + std::to_string(number); }

  void put(std::size_t port, const std::vector<std::byte>& bytes) {
    rte_mbuf* frame = rte_pktmbuf_alloc(pool_.get());
    ASSERT_TRUE(frame);
    std::memcpy(rte_pktmbuf_append(frame, static_cast<std::uint16_t>(bytes.size())), bytes.data(),
                bytes.size());
    ASSERT_EQ(rte_ring_enqueue(ring(port), frame), 0);
  }
  void take_all(std::size_t port) {
    void* frame = nullptr;
    while (rte_ring_dequeue(ring(port), &frame) == 0)
      rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
  }
  nic::Port& operator[](std::size_t port) { return ports_[port]; }
  rte_mempool* pool() noexcept { return pool_.get(); }

 private:
  [[nodiscard]] rte_ring* ring(std::size_t port) const {
    return rte_ring_lookup(("ETH_RXTX0_" + name(numbers_[port])).c_str());
  }
  std::array<std::size_t, 2> numbers_;
  nic::Pool pool_;
  std::vector<nic::Port> ports_;
};

/// DPDK starts once a process: all tests that need it are of this suite, with ports of their own.
class WayTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<nic::PortSpec> specs;
    for (std::size_t i = 0; i < 6; ++i) specs.push_back(*nic::parse_port_spec(RingPorts::name(i)));
    auto eal = nic::Eal::start({.ports = specs, .cores = {}});
    ASSERT_TRUE(eal) << eal.error().message;
    eal_.emplace(std::move(*eal));
    ASSERT_TRUE(MbufAccess::make_room());
  }
  static void TearDownTestSuite() { eal_.reset(); }
  static inline std::optional<nic::Eal> eal_;
};

}  // namespace lw::impair
