// SPDX-License-Identifier: BSD-3-Clause
#pragma once

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
  /// A client asks its server again.
  bool try_link(Instant now) override;

 private:
  [[nodiscard]] bool may_start_later() const noexcept override { return client_; }
  void restart() noexcept;

  /// A client waits so long for the answer to its request, then sends the request again. Each
  /// further wait is twice as long, at most kLastRetry, because a busy machine may answer late.
  static constexpr Duration kFirstRetry = std::chrono::milliseconds(40);
  static constexpr Duration kLastRetry = std::chrono::milliseconds(320);

  bool client_;
  std::optional<Instant> next_try_;
  Duration retry_ = kFirstRetry;
};

}  // namespace lw::nic
