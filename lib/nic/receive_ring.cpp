// SPDX-License-Identifier: BSD-3-Clause
#include "nic/receive_ring.h"

#include <cerrno>
#include <cstring>
#include <linux/if_ether.h>
#include <linux/net_tstamp.h>
#include <optional>

namespace lw::nic {
namespace {

std::optional<VlanTag> tag_of(const tpacket2_hdr& slot) noexcept {
  if ((slot.tp_status & TP_STATUS_VLAN_VALID) == 0) return std::nullopt;
  const bool known = (slot.tp_status & TP_STATUS_VLAN_TPID_VALID) != 0;
  const std::uint16_t tpid = known ? slot.tp_vlan_tpid : std::uint16_t{ETH_P_8021Q};
  VlanTag tag;
  tag[0] = static_cast<std::byte>(tpid >> 8);
  tag[1] = static_cast<std::byte>(tpid);
  tag[2] = static_cast<std::byte>(slot.tp_vlan_tci >> 8);
  tag[3] = static_cast<std::byte>(slot.tp_vlan_tci);
  return tag;
}

}  // namespace

Result<void> ReceiveRing::open(const std::string& port, unsigned interface) {
  if (auto opened = socket_.open(port); !opened) return opened;
  // Without this, frames that are sent on the interface, by this program or others, would be
  // received.
  if (!socket_.set(PACKET_IGNORE_OUTGOING, 1))
    return refuse_step(port, "own frames can't be ignored (Linux 4.20 or later is needed)", errno);
  // The kernel stamps a frame before it may wait for its softirq; without this, when it puts the
  // frame into the ring. Where it doesn't know the option, that stays.
  constexpr int kEarly = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
  setsockopt(socket_.fd(), SOL_SOCKET, SO_TIMESTAMPING, &kEarly, sizeof kEarly);
  auto mapped = socket_.map(port, PACKET_RX_RING, kSlot, kSlots, kFewestSlots);
  if (!mapped) return mapped;
  return bind(port, interface);
}

Result<void> ReceiveRing::bind(const std::string& port, unsigned interface) {
  if (auto bound = socket_.bind(port, interface, ETH_P_ALL); !bound) return bound;
  packet_mreq wanted{};
  wanted.mr_ifindex = static_cast<int>(interface);
  wanted.mr_type = PACKET_MR_PROMISC;
  if (setsockopt(socket_.fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wanted, sizeof wanted) != 0)
    return refuse_step(port, "not promiscuous", errno);
  return {};
}

std::size_t ReceiveRing::receive(std::span<rte_mbuf*> out) noexcept {
  std::size_t count = stamped_ = 0;
  drained_ = false;
  while (count < out.size()) {
    if (!segmenter_.done()) [[unlikely]] {
      if (!take_segments(out, count)) break;
      continue;
    }
    tpacket2_hdr* slot = socket_.slot(at_);
    if ((status_of(slot) & TP_STATUS_USER) == 0) {
      drained_ = true;
      break;
    }
    tpacket2_hdr* next = socket_.slot(socket_.after(at_));
    rte_prefetch0(next);
    rte_prefetch0(bytes_at(next, RTE_CACHE_LINE_SIZE));
    if (!receive_slot(slot, out, count)) break;
  }
  if (count) received_.add(count);
  return count;
}

/// Returns an empty buffer; null if none is free.
rte_mbuf* ReceiveRing::buffer() noexcept {
  if (spares_ == 0) {
    if (rte_pktmbuf_alloc_bulk(pool_, spare_.data(), kSpares) != 0) return rte_pktmbuf_alloc(pool_);
    spares_ = kSpares;
  }
  return spare_[--spares_];
}

/// Receives the frame of a slot, or starts segmenting it. Returns false if no buffer is free; the
/// slot then waits.
bool ReceiveRing::receive_slot(tpacket2_hdr* slot, std::span<rte_mbuf*> out,
                               std::size_t& count) noexcept {
  const Offload offload = read_offload(bytes_at(slot, slot->tp_mac - kVirtioHeader));
  if (offload.segments != Offload::Segments::none) [[unlikely]] {
    if (!begin_segments(slot, offload)) release();
    return true;
  }
  const std::size_t size = slot->tp_len,
                    shift = slot->tp_status & TP_STATUS_VLAN_VALID ? kTagSize : 0;
  if (slot->tp_snaplen < size || size + shift > room_) [[unlikely]] {
    too_long_.add();
    release();
    return true;
  }
  rte_mbuf* frame = buffer();
  if (frame == nullptr) [[unlikely]]
    return false;
  auto* to = reinterpret_cast<std::byte*>(
      rte_pktmbuf_append(frame, static_cast<std::uint16_t>(size + shift)));
  const std::byte* from = bytes_at(slot, slot->tp_mac);
  if (shift) [[unlikely]] {
    tagged_.add();
    const auto tag = tag_of(*slot);
    std::memcpy(to, from, kTagOffset);
    std::memcpy(to + kTagOffset, tag->data(), kTagSize);
    std::memcpy(to + kTagOffset + kTagSize, from + kTagOffset, size - kTagOffset);
  } else {
    std::memcpy(to, from, size);
  }
  if (offload.checksum_missing) [[unlikely]] {
    const std::size_t start = offload.checksum_start;
    if (start > size ||
        !complete_checksum({to + start + shift, size - start}, offload.checksum_offset))
      errors_.add();
  }
  put(frame, *slot, out, count);
  release();
  return true;
}

/// Adds a frame of a slot to those that were received.
void ReceiveRing::put(rte_mbuf* frame, const tpacket2_hdr& slot, std::span<rte_mbuf*> out,
                      std::size_t& count) noexcept {
  constexpr std::int64_t kSecond = 1'000'000'000;
  if (count < kMostStamps) stamps_[stamped_++] = slot.tp_sec * kSecond + slot.tp_nsec;
  out[count++] = frame;
}

/// Returns false if the packet can't be segmented; counts it.
bool ReceiveRing::begin_segments(tpacket2_hdr* slot, const Offload& offload) noexcept {
  if (slot->tp_status & TP_STATUS_VLAN_VALID) tagged_.add();
  if (slot->tp_snaplen < slot->tp_len) {
    too_long_.add();
    return false;
  }
  if (!segmenter_.start({bytes_at(slot, slot->tp_mac), slot->tp_len}, offload, tag_of(*slot))) {
    errors_.add();
    return false;
  }
  if (segmenter_.next_size() <= room_) return true;
  too_long_.add();
  segmenter_.abandon();
  return false;
}

/// Takes segments of the slot at_, and releases the slot after the last. Returns false if no buffer
/// is free.
bool ReceiveRing::take_segments(std::span<rte_mbuf*> out, std::size_t& count) noexcept {
  while (count < out.size() && !segmenter_.done()) {
    rte_mbuf* frame = buffer();
    if (frame == nullptr) return false;
    const auto size = static_cast<std::uint16_t>(segmenter_.next_size());
    segmenter_.write(reinterpret_cast<std::byte*>(rte_pktmbuf_append(frame, size)));
    put(frame, *socket_.slot(at_), out, count);
  }
  if (segmenter_.done()) release();
  return true;
}

}  // namespace lw::nic
