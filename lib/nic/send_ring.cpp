// SPDX-License-Identifier: BSD-3-Clause
#include "nic/send_ring.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <linux/if_ether.h>

#include "nic/clock.h"

namespace lw::nic {
namespace {

constexpr int kSendMemory = 16 * 1024 * 1024;  // limit of bytes queued in the kernel
// Number of bytes of a frame that the kernel copies into its own memory; for the rest it refers to
// the ring's pages. Measured on veth, 1 KiB frames: 0.38 Mpps with copies, 0.27 Mpps without.
constexpr std::size_t kCopied = 2048;

/// Returns the size of the VLAN tags at the start of a frame in bytes: at most two tags.
std::size_t tags_of(const std::byte* frame, std::size_t size) noexcept {
  std::size_t tags = 0;
  while (tags < 2 * kTagSize && kEthernetHeader + tags + kTagSize <= size) {
    const auto high = std::to_integer<unsigned>(frame[kTagOffset + tags]);
    const auto low = std::to_integer<unsigned>(frame[kTagOffset + tags + 1]);
    const unsigned type = high << 8 | low;
    if (type != ETH_P_8021Q && type != ETH_P_8021AD) break;
    tags += kTagSize;
  }
  return tags;
}

}  // namespace

Result<void> SendRing::open(const std::string& port, const NetworkInterface& interface,
                            bool queueing, std::uint32_t frame_size) {
  if (auto opened = socket_.open(port); !opened) return opened;
  socket_.set(PACKET_QDISC_BYPASS, queueing ? 0 : 1);
  // Without CAP_NET_ADMIN, net.core.wmem_max limits the value.
  if (setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendMemory, sizeof kSendMemory) != 0)
    setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDBUF, &kSendMemory, sizeof kSendMemory);
  interface_ = &interface;
  mtu_ = interface.mtu().value_or(0);
  const std::size_t largest =
      std::max<std::size_t>(frame_size, kEthernetHeader + 2 * kTagSize + mtu_);
  room_ = largest;
  auto mapped = socket_.map(port, PACKET_TX_RING, slot_for(largest), kSlots, kFewestSlots);
  if (!mapped) return mapped;
  return bind(port, interface.index());
}

Result<void> SendRing::bind(const std::string& port, unsigned interface) {
  mtu_ = interface_->mtu().value_or(0);
  return socket_.bind(port, interface, 0);
}

bool SendRing::fits(const rte_mbuf* frame) noexcept {
  const std::size_t size = rte_pktmbuf_pkt_len(frame);
  const std::size_t tags =
      tags_of(rte_pktmbuf_mtod(frame, const std::byte*), rte_pktmbuf_data_len(frame));
  if (size > mtu_.load(std::memory_order_relaxed) + kEthernetHeader + tags)
    mtu_ = interface_->mtu().value_or(0);
  return size <= mtu_.load(std::memory_order_relaxed) + kEthernetHeader + tags && size <= room_;
}

std::size_t SendRing::send(std::span<rte_mbuf*> frames) noexcept {
  std::size_t done = 0;
  departed_ = 0;
  while (done < frames.size()) {
    const std::uint32_t first = at_;
    const std::uint32_t filled = fill(frames.subspan(done));
    const std::uint32_t taken = filled ? hand_over(first, filled) : 0;
    if (taken) {
      rte_pktmbuf_free_bulk(&frames[done], taken);
      sent_.add(taken);
      done += taken;
      departed_ += taken;
      refused_since_.reset();
    }
    if (done == frames.size()) break;
    if (taken < filled) {
      if (!drop_refused(frames[done])) break;
    } else if (is_sendable(frames[done])) {
      break;  // no free slot
    } else {
      drop_unsendable(frames[done]);
    }
    ++done;
  }
  return done;
}

/// Copies frames into free slots, up to the first that can't be sent. Returns their number.
std::uint32_t SendRing::fill(std::span<rte_mbuf*> frames) noexcept {
  std::uint32_t filled = 0;
  for (const rte_mbuf* frame : frames) {
    tpacket2_hdr* slot = socket_.slot(at_);
    if (status_of(slot) != TP_STATUS_AVAILABLE || !is_sendable(frame)) break;
    const std::size_t size = rte_pktmbuf_pkt_len(frame);
    std::byte* to = bytes_at(slot, kData);
    // The other fields of the header stay 0.
    const auto copied = static_cast<std::uint16_t>(std::min(size, kCopied));
    std::memcpy(to + kVirtioHeaderLength, &copied, sizeof copied);
    to += kVirtioHeader;
    for (const rte_mbuf* part = frame; part; part = part->next) {
      std::memcpy(to, rte_pktmbuf_mtod(part, const std::byte*), rte_pktmbuf_data_len(part));
      to += rte_pktmbuf_data_len(part);
    }
    slot->tp_len = static_cast<std::uint32_t>(kVirtioHeader + size);
    set_status(slot, TP_STATUS_SEND_REQUEST);
    at_ = socket_.after(at_);
    ++filled;
  }
  return filled;
}

/// Lets the kernel send `filled` slots from `first` on. Returns how many it accepted; takes the
/// others back.
std::uint32_t SendRing::hand_over(std::uint32_t first, std::uint32_t filled) noexcept {
  constexpr std::uint32_t kNotTaken = TP_STATUS_SEND_REQUEST | TP_STATUS_WRONG_FORMAT;
  const auto result = stamps_.send(socket_.fd(), filled);
  interface_refused_ = result < 0 && errno == ENOBUFS;
  const std::uint32_t last = at_ == 0 ? socket_.slots() - 1 : at_ - 1;
  if ((status_of(socket_.slot(last)) & kNotTaken) == 0) [[likely]] {
    stamps_.read(socket_.fd(), filled);
    return filled;
  }
  std::uint32_t taken = 0, slot = first;
  for (; (status_of(socket_.slot(slot)) & kNotTaken) == 0; slot = socket_.after(slot)) ++taken;
  stamps_.read(socket_.fd(), taken);
  // The kernel continues at the first slot that it has not accepted.
  at_ = slot;
  for (std::uint32_t left = filled - taken; left > 0; --left, slot = socket_.after(slot))
    set_status(socket_.slot(slot), TP_STATUS_AVAILABLE);
  return taken;
}

void SendRing::drop_unsendable(rte_mbuf* frame) noexcept {
  (rte_pktmbuf_pkt_len(frame) < kEthernetHeader ? errors_ : too_long_).add();
  rte_pktmbuf_free(frame);
}

/// Drops a frame that an interface with a link has refused for kRefusalTimeout. A full queue lasts
/// only a short time, but veth also refuses, for ever, frames that its peer would not accept.
/// Returns true if the frame was dropped.
bool SendRing::drop_refused(rte_mbuf* frame) noexcept {
  if (!interface_refused_) return false;
  refused_.add();
  const Instant at = now();
  if (!refused_since_) refused_since_ = at;
  // veth permits one tag in addition to the MTU, not two.
  const bool long_tags = rte_pktmbuf_pkt_len(frame) >
                         mtu_.load(std::memory_order_relaxed) + kEthernetHeader + kTagSize;
  if (!long_tags && at - *refused_since_ < kRefusalTimeout) return false;
  if (!interface_->is_running()) {
    refused_since_ = at;
    return false;
  }
  (long_tags ? too_long_ : dropped_).add();
  rte_pktmbuf_free(frame);
  return true;
}

}  // namespace lw::nic
