// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "analysis/analyst.h"
#include "dissect/points/stamp_order.h"

namespace lw::dissect {

/// Brings the packets of a capture into the order of their stamps, where a StampOrder asks for it.
/// A packet waits until one comes whose stamp is later by the order's window; at most kMostWaiting
/// wait. One that comes later still passes as it comes.
class StampSorter {
 public:
  static constexpr std::size_t kMostWaiting = 65'536;

  explicit StampSorter(StampOrder order) : order_(std::move(order)) {}

  /// Otherwise packets need not be added.
  [[nodiscard]] bool is_needed() const noexcept { return order_.is_needed(); }
  /// Adds the next packet of the capture. Gives `analyst` those whose turn has come.
  void add(analysis::KeyedPacket&& packet, analysis::Analyst& analyst);
  /// Gives `analyst` all that wait.
  void finish(analysis::Analyst& analyst);

 private:
  struct Waiting {
    Instant stamp;
    bool is_moved = false;  // an answer, which comes behind a request of the same time
    std::uint64_t turn = 0;
    analysis::KeyedPacket packet;
    /// std::push_heap() keeps the largest in front: here the earliest.
    friend bool operator<(const Waiting& a, const Waiting& b) noexcept {
      return std::tie(a.stamp, a.is_moved, a.turn) > std::tie(b.stamp, b.is_moved, b.turn);
    }
  };
  void release(analysis::Analyst& analyst);

  StampOrder order_;
  std::vector<Waiting> waiting_;  // a heap
  std::uint64_t turns_ = 0;
  Instant newest_ = Instant::min();
};

}  // namespace lw::dissect
