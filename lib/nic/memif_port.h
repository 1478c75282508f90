// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/counter.h"
#include "nic/dpdk_port.h"

namespace lw::nic {

/// Shared memory between two processes. Works around mistakes of DPDK's driver, which otherwise end
/// the program when a peer leaves: bursts are marked, the driver's functions that its interrupt
/// thread disturbs run there, and memif_port.cpp replaces munmap() and sendmsg() of the C library
/// for the whole process.
class MemifPort final : public DpdkPort {
 public:
  MemifPort(std::uint16_t id, const PortSpec& spec);
  /// Gives the other side time to read the frames that were sent.
  ~MemifPort() override;

  std::size_t receive(std::span<rte_mbuf*> out) noexcept override;
  std::size_t send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept override;
  [[nodiscard]] bool has_direct_bursts() const noexcept override { return false; }
  /// The driver forgets its counters when the other side leaves: the port's own never go back.
  [[nodiscard]] PortStats stats() const override;
  /// A client asks its server again.
  bool try_link(Instant now) override;

 private:
  [[nodiscard]] bool may_start_later() const noexcept override { return client_; }
  void restart() noexcept;

  /// A client waits so long for the answer to its request, then sends the request again. Each
  /// further wait is twice as long, at most kLastRetry, because a busy machine may answer late.
  static constexpr Duration kFirstRetry = std::chrono::milliseconds(40);
  static constexpr Duration kLastRetry = std::chrono::milliseconds(320);

  Counter received_;
  std::atomic<std::uint64_t> sent_{0};  // by all threads that send
  mutable std::mutex errors_;           // guards the next
  mutable PortStats before_, last_;     // of the driver: before the other side left last; seen last
  bool client_;
  std::optional<Instant> next_try_;
  Duration retry_ = kFirstRetry;
};

}  // namespace lw::nic
