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

#include "impair/datapath/port_io.h"
#include "nic/eal.h"

namespace lw::test {

/// Time of test_clock(), which the test sets.
inline Instant test_time;
inline Instant test_clock() noexcept { return test_time; }

/// Two DPDK ring ports; their names cannot be used again. A ring port receives what it has sent: a
/// test puts frames in directly before the poll, and takes out sent frames directly after it.
class RingPorts {
 public:
  RingPorts(const nic::Eal& eal, std::array<std::size_t, 2> numbers)
      : numbers_(numbers),
        pool_(nic::Pool::create("ring ports", {.buffers = 16384, .frame_size = 2048}).value()) {
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
  /// Calls visit(frame) for each frame in the port, and frees them.
  template <class Visit>
  void take_all(std::size_t port, Visit visit) {
    void* frame = nullptr;
    while (rte_ring_dequeue(ring(port), &frame) == 0) {
      visit(static_cast<const rte_mbuf*>(frame));
      rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    }
  }
  void take_all(std::size_t port) {
    take_all(port, [](const rte_mbuf*) {});
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

}  // namespace lw::test
