// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "nic/interface.h"
#include "nic/port_backend.h"

namespace lw::nic {

class ReceiveRing;
class SendRing;

/// A Linux interface through our own packet sockets: one that receives, and one per send queue.
/// Frames are returned as their sender meant them on the wire: missing checksums are completed,
/// packets that the kernel has not segmented or has merged are segmented, and VLAN tags are put
/// back with their TPID. IP fragments are unchanged. This happens at receive, because later each
/// frame may be delayed, copied, dropped or changed on its own.
class PacketPort final : public PortBackend {
 public:
  /// Opens the interface in promiscuous mode; doesn't set it up. `pool` must outlive the port.
  /// Errors (environment): what the kernel refused, and the remedy.
  static Result<std::unique_ptr<PacketPort>> open(const PortSpec& spec, const Pool& pool,
                                                  std::uint16_t send_queues);
  ~PacketPort() override;

  /// See Port. One thread for receive(), and one for each queue of send(). A frame longer than the
  /// interface's MTU permits is taken, dropped and counted, because waiting would not help. While
  /// the interface is down or its queue is full, frames are not taken.
  std::size_t receive(std::span<rte_mbuf*> out) noexcept override;
  [[nodiscard]] bool has_stamps() const noexcept override { return true; }
  [[nodiscard]] std::span<const std::int64_t> stamps() const noexcept override;
  [[nodiscard]] bool is_drained() const noexcept override;
  std::size_t send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept override;
  bool stamp_departures() noexcept override;
  [[nodiscard]] std::span<const std::int64_t> departures(
      std::uint16_t queue) const noexcept override;

  /// Returns the kernel memory of a port's rings in bytes, with one send queue and an MTU for
  /// frames of `frame_size`.
  static std::uint64_t ring_bytes(std::uint32_t frame_size) noexcept;

  [[nodiscard]] bool link_up() const noexcept override { return interface_.is_running(); }
  [[nodiscard]] std::array<std::byte, 6> mac_address() const noexcept override;
  /// Returns the counters. Losses are counted since open(), or since the last restart_counts(). Any
  /// thread, like the following functions.
  [[nodiscard]] PortStats stats() const override;
  void restart_counts() override;
  [[nodiscard]] bool is_bound_to(unsigned index) const noexcept override {
    return index == bound_to_.load();
  }
  /// Binds the port to the interface that now has its name. Returns false if there is none, or the
  /// kernel refused.
  bool bind_again() override;
  void end_receiving() override;

 private:
  explicit PacketPort(std::string interface);
  [[nodiscard]] PortStats count() const;
  Result<void> open_rings(const PortSpec& spec, const Pool& pool, std::uint16_t send_queues);

  NetworkInterface interface_;
  std::atomic<unsigned> bound_to_{0};
  std::unique_ptr<ReceiveRing> receive_;
  std::vector<std::unique_ptr<SendRing>> send_;
  mutable std::mutex mutex_;         // guards all members below
  InterfaceLosses before_;           // the interface's losses at open() or restart_counts()
  mutable InterfaceLosses last_;     // the newest that could be read
  std::uint64_t missed_before_ = 0;  // losses in the receive ring at that time
  // losses in the kernel's backlog, of all interfaces, at that time
  std::uint64_t backlog_before_ = 0;
  std::uint64_t tagged_before_ = 0;  // received tagged frames at that time
  std::optional<PortStats> at_end_;  // the counters at end_receiving()
};

}  // namespace lw::nic
