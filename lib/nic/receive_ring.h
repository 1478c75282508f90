// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <span>
#include <string>

#include <rte_mbuf.h>

#include "core/counter.h"
#include "nic/offload.h"
#include "nic/pool.h"
#include "nic/ring_socket.h"

namespace lw::nic {

/// Receives frames of one interface, and completes what the kernel left undone: checksums,
/// segmentation, VLAN tags.
class ReceiveRing {
 public:
  // Slot size in bytes: 64 KiB, the largest packet that the kernel merges or leaves unsegmented by
  // default, and the slot's header. An odd number of cache lines, so that the slots' first lines
  // are spread over all sets of the cache.
  static constexpr std::uint32_t kSlot = 1029 * 64, kSlots = 1024;

  explicit ReceiveRing(const Pool& pool) : pool_(pool.get()), room_(pool.config().frame_size) {}
  ReceiveRing(const ReceiveRing&) = delete;
  ReceiveRing& operator=(const ReceiveRing&) = delete;
  ~ReceiveRing() { rte_pktmbuf_free_bulk(spare_.data(), spares_); }

  Result<void> open(const std::string& port, unsigned interface);
  /// Receives only from this interface from now on. Any thread.
  Result<void> bind(const std::string& port, unsigned interface);

  std::size_t receive(std::span<rte_mbuf*> out) noexcept;
  /// When the kernel took each of the frames that receive() returned last, the first kMostStamps
  /// of them: CLOCK_REALTIME in ns, from its softirq.
  [[nodiscard]] std::span<const std::int64_t> stamps() const noexcept {
    return std::span(stamps_).first(stamped_);
  }
  static constexpr std::size_t kMostStamps = 64;
  /// True if the last receive() has left no frame in the ring.
  [[nodiscard]] bool is_drained() const noexcept { return drained_; }

  [[nodiscard]] std::uint64_t received() const noexcept { return received_.get(); }
  [[nodiscard]] std::uint64_t too_long() const noexcept { return too_long_.get(); }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.get(); }
  [[nodiscard]] std::uint64_t tagged() const noexcept { return tagged_.get(); }
  /// Number of frames that found no free slot. Any thread.
  [[nodiscard]] std::uint64_t missed() const noexcept {
    tpacket_stats counted{};  // since the last call
    socklen_t size = sizeof counted;
    if (getsockopt(socket_.fd(), SOL_PACKET, PACKET_STATISTICS, &counted, &size) == 0)
      missed_.fetch_add(counted.tp_drops, std::memory_order_relaxed);
    return missed_.load(std::memory_order_relaxed);
  }

 private:
  rte_mbuf* buffer() noexcept;
  void put(rte_mbuf* frame, const tpacket2_hdr& slot, std::span<rte_mbuf*> out,
           std::size_t& count) noexcept;
  bool receive_slot(tpacket2_hdr* slot, std::span<rte_mbuf*> out, std::size_t& count) noexcept;
  bool take_segments(std::span<rte_mbuf*> out, std::size_t& count) noexcept;
  bool begin_segments(tpacket2_hdr* slot, const Offload& offload) noexcept;
  void release() noexcept {
    set_status(socket_.slot(at_), TP_STATUS_KERNEL);
    at_ = socket_.after(at_);
  }

  static constexpr unsigned kSpares = 32;

  RingSocket socket_;
  rte_mempool* pool_;
  std::uint32_t room_;    // size of a buffer in bytes
  std::uint32_t at_ = 0;  // the next slot
  Segmenter segmenter_;   // segments of the slot at_, unless done()
  std::array<rte_mbuf*, kSpares> spare_{};
  unsigned spares_ = 0;
  std::array<std::int64_t, kMostStamps> stamps_{};
  std::size_t stamped_ = 0;
  bool drained_ = false;
  Counter received_, too_long_, errors_;
  Counter tagged_;  // slots with a VLAN tag beside the frame
  mutable std::atomic<std::uint64_t> missed_{0};
};

}  // namespace lw::nic
