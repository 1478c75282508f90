// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>

#include "gen/tx/ports.h"
#include "wire/view.h"

namespace lw::gen {

/// Frames that are there as bytes, sent through one port in bursts.
class TxBurst {
 public:
  static constexpr std::size_t kBurst = 32;

  TxBurst(nic::Port& port, const nic::Pool& pool) : port_(port), pool_(pool) {}
  TxBurst(const TxBurst&) = delete;
  TxBurst& operator=(const TxBurst&) = delete;
  ~TxBurst();

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] bool full() const noexcept { return count_ == kBurst; }
  /// Copies a frame of at most the pool's frame size into the burst, which isn't full; false when
  /// there is no buffer for it.
  bool add(wire::Bytes frame) noexcept;
  /// The same for one that the caller writes: room for `size` bytes, all of them to be written;
  /// empty when there is no buffer.
  wire::MutableBytes add(std::size_t size) noexcept;

  /// Hands the burst to the port, which gets a while to take it; one that used up its while gets
  /// none again until it takes a frame. Returns how many of the burst's first frames it took.
  std::size_t send() noexcept;

 private:
  nic::Port& port_;
  const nic::Pool& pool_;
  std::array<rte_mbuf*, kBurst> buffers_{};
  std::size_t count_ = 0;
  bool stuck_ = false;
};

}  // namespace lw::gen
