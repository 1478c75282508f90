// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <optional>
#include <span>
#include <string>

#include <rte_mbuf.h>

#include "core/counter.h"
#include "core/time.h"
#include "nic/departure_stamps.h"
#include "nic/interface.h"
#include "nic/offload.h"
#include "nic/ring_socket.h"

namespace lw::nic {

/// Sends frames on one interface. One system call per burst.
class SendRing {
 public:
  static constexpr std::uint32_t kSlots = 512;

  Result<void> open(const std::string& port, const NetworkInterface& interface, bool queueing,
                    std::uint32_t frame_size);
  /// Sends on this interface from now on. Any thread.
  Result<void> bind(const std::string& port, unsigned interface);

  std::size_t send(std::span<rte_mbuf*> frames) noexcept;

  /// Size of a slot for frames of `largest` bytes.
  static std::uint32_t slot_for(std::size_t largest) noexcept {
    return static_cast<std::uint32_t>(TPACKET_ALIGN(kData + kVirtioHeader + largest));
  }
  /// Asks for stamps of small sends from now on.
  void stamp_departures() noexcept { stamps_.open(socket_.fd()); }
  /// When the frames of the last send() left (CLOCK_REALTIME, ns): of all, or none.
  [[nodiscard]] std::span<const std::int64_t> departures() const noexcept {
    return departed_ == stamps_.last().size() ? stamps_.last() : std::span<const std::int64_t>();
  }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.get(); }
  [[nodiscard]] std::uint64_t too_long() const noexcept { return too_long_.get(); }

  /// Number of sent frames that the interface dropped: it refused them for kRefusalTimeout.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.get(); }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.get(); }
  /// Number of refusals by the interface, which may count each as a drop.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.get(); }

 private:
  // Offset in a slot at which the kernel expects the frame.
  static constexpr std::size_t kData = TPACKET2_HDRLEN - sizeof(sockaddr_ll);
  static constexpr Duration kRefusalTimeout = std::chrono::milliseconds(20);

  /// Returns true if the frame is within the interface's MTU, not counting tags.
  bool fits(const rte_mbuf* frame) noexcept;
  [[nodiscard]] bool is_sendable(const rte_mbuf* frame) noexcept {
    const std::size_t size = rte_pktmbuf_pkt_len(frame);
    return size >= kEthernetHeader &&
           (size <= mtu_.load(std::memory_order_relaxed) + kEthernetHeader || fits(frame));
  }
  void drop_unsendable(rte_mbuf* frame) noexcept;
  std::uint32_t fill(std::span<rte_mbuf*> frames) noexcept;
  std::uint32_t hand_over(std::uint32_t first, std::uint32_t filled) noexcept;
  bool drop_refused(rte_mbuf* frame) noexcept;

  RingSocket socket_;
  DepartureStamps stamps_;
  std::size_t departed_ = 0;  // frames that the last send() has sent
  const NetworkInterface* interface_ = nullptr;
  std::atomic<std::size_t> mtu_{0};  // longest packet of the interface, in bytes
  std::size_t room_ = 0;             // longest frame that fits into a slot, in bytes
  std::uint32_t at_ = 0;             // the next slot
  // the interface, not the socket, refused a frame of the last hand_over()
  bool interface_refused_ = false;
  std::optional<Instant> refused_since_;
  Counter sent_, too_long_, dropped_, errors_, refused_;
};

}  // namespace lw::nic
