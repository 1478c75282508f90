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
#include "nic/port.h"

namespace lw::nic {

class ReceiveRing;
class SendRing;

/// A Linux interface through packet sockets of our own: one that receives, and one per send queue.
/// Frames come out as their sender means them on the wire: a missing checksum is completed, a
/// packet that the kernel has not segmented or has merged is segmented, VLAN tags are put back with
/// their TPID. IP fragments are not touched. All of that happens at receive, because behind it a
/// frame may be delayed, copied, dropped or changed alone.
class PacketPort {
 public:
  /// Opens the interface, promiscuous; it is not set up. `pool` must outlive the port. Errors
  /// (environment): what the kernel refused, and what to do.
  static Result<std::unique_ptr<PacketPort>> open(const PortSpec& spec, const Pool& pool,
                                                  std::uint16_t send_queues);
  PacketPort(const PacketPort&) = delete;
  PacketPort& operator=(const PacketPort&) = delete;
  ~PacketPort();

  /// See Port. One thread each for receive() and for each queue of send(). A frame that is longer
  /// than the interface's MTU permits is taken, dropped and counted, as a longer wait would not
  /// help it; with the interface down, or its queue full, frames are not taken.
  std::size_t receive(std::span<rte_mbuf*> out) noexcept;
  std::size_t send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept;

  /// Kernel memory of a port's rings, in bytes, with one send queue and an MTU that fits frames of
  /// `frame_size`.
  static std::uint64_t ring_bytes(std::uint32_t frame_size) noexcept;

  [[nodiscard]] const Interface& interface() const noexcept { return interface_; }
  /// Losses are counted since open(), or since the last restart_counts(). Any thread, like the
  /// following.
  [[nodiscard]] PortStats stats() const;
  /// Forgets what was lost until now.
  void restart_counts();
  /// The kernel's number of the interface that the port is bound to.
  [[nodiscard]] unsigned bound_to() const noexcept { return bound_to_.load(); }
  /// Binds the port to the interface that has its name now. False: there is none, or the kernel
  /// refused.
  bool bind_again();
  /// What is lost on the way in from now on isn't counted.
  void end_receiving();

 private:
  explicit PacketPort(std::string interface);
  [[nodiscard]] PortStats count() const;
  Result<void> open_rings(const PortSpec& spec, const Pool& pool, std::uint16_t send_queues);

  Interface interface_;
  std::atomic<unsigned> bound_to_{0};
  std::unique_ptr<ReceiveRing> receive_;
  std::vector<std::unique_ptr<SendRing>> send_;
  mutable std::mutex mutex_;          // of all below
  InterfaceLosses before_;            // what the interface had lost at open() or restart_counts()
  std::uint64_t missed_before_ = 0;   // likewise, in the receive ring
  std::uint64_t backlog_before_ = 0;  // likewise, in the kernel's backlog, of all interfaces
  std::uint64_t tagged_before_ = 0;   // tagged frames that were received before
  std::optional<PortStats> at_end_;   // at end_receiving()
};

}  // namespace lw::nic
