// SPDX-License-Identifier: BSD-3-Clause
#include "nic/packet_port.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/core.h>
#include <rte_mbuf.h>

#include "core/counter.h"
#include "nic/clock.h"
#include "nic/offload.h"

namespace lw::nic {
namespace {

constexpr std::size_t kEthernetHeader = 14, kTagSize = 4;
constexpr std::uint32_t kBlock = 2 * 1024 * 1024;  // bytes of a ring's block
// The largest packet that the kernel merges or leaves unsegmented by default is 64 KiB; with the
// slot's header. An odd number of cache lines, so that the slots' first lines are spread over all
// sets of the cache.
constexpr std::uint32_t kReceiveSlot = 1029 * 64;
constexpr std::uint32_t kReceiveSlots = 1024, kFewestSlots = 128, kSendSlots = 512;
constexpr int kSendMemory = 16 * 1024 * 1024;  // bytes on their way through the kernel
// The kernel copies this much of a frame into the packet's own memory, and refers to the ring's
// pages for the rest. Measured on veth, 1 KiB frames: 0.38 Mpps with copies, 0.27 Mpps without.
constexpr std::size_t kCopied = 2048;

/// Blocks of a ring.
constexpr std::uint32_t blocks_for(std::uint32_t slot, std::uint32_t slots) noexcept {
  const std::uint32_t per_block = kBlock / slot;
  return (slots + per_block - 1) / per_block;
}

std::unexpected<Error> refuse_step(const std::string& port, const char* step, int code) {
  const char* hint = code == EPERM || code == EACCES ? "; needs root, or CAP_NET_RAW" : "";
  return fail(fmt::format("port `{}`: {}: {}{}", port, step, std::strerror(code), hint),
              ExitCode::environment);
}

}  // namespace

/// A packet socket with one ring of TPACKET_V2. (V3 hands over whole blocks, up to 1 ms late.)
class RingSocket {
 public:
  RingSocket() = default;
  RingSocket(const RingSocket&) = delete;
  RingSocket& operator=(const RingSocket&) = delete;
  ~RingSocket() {
    if (ring_ != MAP_FAILED) munmap(ring_, ring_size_);
    if (fd_ >= 0) close(fd_);
  }

  /// Errors name the step that the kernel refused. It receives nothing until bind().
  Result<void> open(const std::string& port) {
    // No protocol: nothing is received before bind().
    fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd_ < 0) return refuse_step(port, "no packet socket", errno);
    if (!set(PACKET_VERSION, TPACKET_V2)) return refuse_step(port, "no packet ring", errno);
    if (!set(PACKET_VNET_HDR, 1))
      return refuse_step(port, "the kernel doesn't say which checksums are missing", errno);
    return {};
  }

  /// `slots` is raised to whole blocks; while memory lacks, it is halved down to `fewest`.
  Result<void> map(const std::string& port, int kind, std::uint32_t slot, std::uint32_t slots,
                   std::uint32_t fewest) {
    slot_ = slot;
    per_block_ = kBlock / slot;
    for (;; slots /= 2) {
      tpacket_req request{};
      request.tp_block_size = kBlock;
      request.tp_frame_size = slot;
      request.tp_block_nr = blocks_for(slot, slots);
      request.tp_frame_nr = request.tp_block_nr * per_block_;
      slots_ = request.tp_frame_nr;
      ring_size_ = std::size_t{request.tp_block_nr} * kBlock;
      if (setsockopt(fd_, SOL_PACKET, kind, &request, sizeof request) == 0) break;
      if (errno != ENOMEM || slots / 2 < fewest) return refuse_step(port, "no packet ring", errno);
    }
    ring_ = mmap(nullptr, ring_size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (ring_ == MAP_FAILED) return refuse_step(port, "the packet ring is not mapped", errno);
    return {};
  }

  Result<void> bind(const std::string& port, unsigned interface, std::uint16_t protocol) {
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(protocol);
    address.sll_ifindex = static_cast<int>(interface);
    if (::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      return refuse_step(port, "the packet socket is not bound", errno);
    return {};
  }

  bool set(int option, int value) noexcept {
    return setsockopt(fd_, SOL_PACKET, option, &value, sizeof value) == 0;
  }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  [[nodiscard]] std::uint32_t slots() const noexcept { return slots_; }
  /// A slot is at its place in a block; a block's rest is unused.
  [[nodiscard]] tpacket2_hdr* slot(std::uint32_t number) const noexcept {
    return reinterpret_cast<tpacket2_hdr*>(static_cast<char*>(ring_) +
                                           std::size_t{number / per_block_} * kBlock +
                                           std::size_t{number % per_block_} * slot_);
  }
  [[nodiscard]] std::uint32_t after(std::uint32_t number) const noexcept {
    return number + 1 == slots_ ? 0 : number + 1;
  }

 private:
  int fd_ = -1;
  void* ring_ = MAP_FAILED;
  std::size_t ring_size_ = 0;
  std::uint32_t slot_ = 0, slots_ = 0, per_block_ = 1;
};

namespace {

std::uint32_t status_of(tpacket2_hdr* slot) noexcept {
  return std::atomic_ref(slot->tp_status).load(std::memory_order_acquire);
}
void set_status(tpacket2_hdr* slot, std::uint32_t status) noexcept {
  std::atomic_ref(slot->tp_status).store(status, std::memory_order_release);
}

std::byte* bytes_at(tpacket2_hdr* slot, std::size_t offset) noexcept {
  return reinterpret_cast<std::byte*>(slot) + offset;
}

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

/// VLAN tags at the start of a frame, in bytes: at most two.
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

/// Receives frames of one interface, and finishes what the kernel left undone.
class ReceiveRing {
 public:
  explicit ReceiveRing(const Pool& pool) : pool_(pool.get()), room_(pool.config().frame_size) {}
  ReceiveRing(const ReceiveRing&) = delete;
  ReceiveRing& operator=(const ReceiveRing&) = delete;
  ~ReceiveRing() { rte_pktmbuf_free_bulk(spare_.data(), spares_); }

  Result<void> open(const std::string& port, unsigned interface) {
    if (auto opened = socket_.open(port); !opened) return opened;
    // Otherwise frames that this program and others send on the interface come in too.
    if (!socket_.set(PACKET_IGNORE_OUTGOING, 1))
      return refuse_step(port, "own frames can't be ignored (Linux 4.20 or later is needed)",
                         errno);
    auto mapped = socket_.map(port, PACKET_RX_RING, kReceiveSlot, kReceiveSlots, kFewestSlots);
    if (!mapped) return mapped;
    return bind(port, interface);
  }
  /// Receives from this interface from now on, and from no other. Any thread.
  Result<void> bind(const std::string& port, unsigned interface) {
    if (auto bound = socket_.bind(port, interface, ETH_P_ALL); !bound) return bound;
    packet_mreq wanted{};
    wanted.mr_ifindex = static_cast<int>(interface);
    wanted.mr_type = PACKET_MR_PROMISC;
    if (setsockopt(socket_.fd(), SOL_PACKET, PACKET_ADD_MEMBERSHIP, &wanted, sizeof wanted) != 0)
      return refuse_step(port, "not promiscuous", errno);
    return {};
  }

  std::size_t receive(std::span<rte_mbuf*> out) noexcept;

  [[nodiscard]] std::uint64_t received() const noexcept { return received_.get(); }
  [[nodiscard]] std::uint64_t too_long() const noexcept { return too_long_.get(); }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.get(); }
  [[nodiscard]] std::uint64_t tagged() const noexcept { return tagged_.get(); }
  /// Frames that found no free slot. Any thread.
  [[nodiscard]] std::uint64_t missed() const noexcept {
    tpacket_stats counted{};  // since the last look
    socklen_t size = sizeof counted;
    if (getsockopt(socket_.fd(), SOL_PACKET, PACKET_STATISTICS, &counted, &size) == 0)
      missed_.fetch_add(counted.tp_drops, std::memory_order_relaxed);
    return missed_.load(std::memory_order_relaxed);
  }

 private:
  rte_mbuf* buffer() noexcept;
  bool take(tpacket2_hdr* slot, std::span<rte_mbuf*> out, std::size_t& count) noexcept;
  bool take_segments(std::span<rte_mbuf*> out, std::size_t& count) noexcept;
  bool begin_segments(tpacket2_hdr* slot, const Offload& offload) noexcept;
  void release() noexcept {
    set_status(socket_.slot(at_), TP_STATUS_KERNEL);
    at_ = socket_.after(at_);
  }

  static constexpr unsigned kSpares = 32;

  RingSocket socket_;
  rte_mempool* pool_;
  std::uint32_t room_;    // of a buffer, in bytes
  std::uint32_t at_ = 0;  // the next slot
  Segmenter segmenter_;   // of the slot at_, unless done()
  std::array<rte_mbuf*, kSpares> spare_{};
  unsigned spares_ = 0;
  Counter received_, too_long_, errors_;
  Counter tagged_;  // slots whose tag the kernel held beside the frame
  mutable std::atomic<std::uint64_t> missed_{0};
};

std::size_t ReceiveRing::receive(std::span<rte_mbuf*> out) noexcept {
  std::size_t count = 0;
  while (count < out.size()) {
    if (!segmenter_.done()) [[unlikely]] {
      if (!take_segments(out, count)) break;
      continue;
    }
    tpacket2_hdr* slot = socket_.slot(at_);
    if ((status_of(slot) & TP_STATUS_USER) == 0) break;
    tpacket2_hdr* next = socket_.slot(socket_.after(at_));
    rte_prefetch0(next);
    rte_prefetch0(bytes_at(next, RTE_CACHE_LINE_SIZE));
    if (!take(slot, out, count)) break;
  }
  if (count) received_.add(count);
  return count;
}

/// An empty buffer; null without a free one.
rte_mbuf* ReceiveRing::buffer() noexcept {
  if (spares_ == 0) {
    if (rte_pktmbuf_alloc_bulk(pool_, spare_.data(), kSpares) != 0) return rte_pktmbuf_alloc(pool_);
    spares_ = kSpares;
  }
  return spare_[--spares_];
}

/// Takes the frame of one slot, or begins to segment it. False: no buffer; the slot waits.
bool ReceiveRing::take(tpacket2_hdr* slot, std::span<rte_mbuf*> out, std::size_t& count) noexcept {
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
  release();
  out[count++] = frame;
  return true;
}

/// False: the packet can't be segmented, and is counted.
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

/// Takes segments of the slot at_, and releases it behind the last. False: no buffer.
bool ReceiveRing::take_segments(std::span<rte_mbuf*> out, std::size_t& count) noexcept {
  while (count < out.size() && !segmenter_.done()) {
    rte_mbuf* frame = buffer();
    if (frame == nullptr) return false;
    const auto size = static_cast<std::uint16_t>(segmenter_.next_size());
    segmenter_.write(reinterpret_cast<std::byte*>(rte_pktmbuf_append(frame, size)));
    out[count++] = frame;
  }
  if (segmenter_.done()) release();
  return true;
}

/// Sends frames on one interface. One system call per burst.
class SendRing {
 public:
  Result<void> open(const std::string& port, const Interface& interface, bool queueing,
                    std::uint32_t frame_size) {
    if (auto opened = socket_.open(port); !opened) return opened;
    socket_.set(PACKET_QDISC_BYPASS, queueing ? 0 : 1);
    // Without CAP_NET_ADMIN, net.core.wmem_max is the limit.
    if (setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &kSendMemory, sizeof kSendMemory) != 0)
      setsockopt(socket_.fd(), SOL_SOCKET, SO_SNDBUF, &kSendMemory, sizeof kSendMemory);
    interface_ = &interface;
    mtu_ = interface.mtu().value_or(0);
    const std::size_t largest =
        std::max<std::size_t>(frame_size, kEthernetHeader + 2 * kTagSize + mtu_);
    room_ = largest;
    auto mapped = socket_.map(port, PACKET_TX_RING, slot_for(largest), kSendSlots, kFewestSlots);
    if (!mapped) return mapped;
    return bind(port, interface.index());
  }
  /// Sends by this interface from now on. Any thread.
  Result<void> bind(const std::string& port, unsigned interface) {
    mtu_ = interface_->mtu().value_or(0);
    return socket_.bind(port, interface, 0);
  }

  std::size_t send(std::span<rte_mbuf*> frames) noexcept;

  /// Size of a slot for frames of `largest` bytes.
  static std::uint32_t slot_for(std::size_t largest) noexcept {
    return static_cast<std::uint32_t>(TPACKET_ALIGN(kData + kVirtioHeader + largest));
  }
  [[nodiscard]] std::uint64_t sent() const noexcept { return sent_.get(); }
  [[nodiscard]] std::uint64_t too_long() const noexcept { return too_long_.get(); }

  /// Sent frames that the interface dropped, after they were offered again for kPatience.
  [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.get(); }
  [[nodiscard]] std::uint64_t errors() const noexcept { return errors_.get(); }
  /// Offers that the interface refused; it may count each as dropped.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.get(); }

 private:
  // Where the kernel looks for a frame in a slot.
  static constexpr std::size_t kData = TPACKET2_HDRLEN - sizeof(sockaddr_ll);
  static constexpr Duration kPatience = std::chrono::milliseconds(20);

  /// Within the interface's MTU, tags not counted.
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
  const Interface* interface_ = nullptr;
  std::atomic<std::size_t> mtu_{0};  // longest packet of the interface, in bytes
  std::size_t room_ = 0;             // longest frame of a slot, in bytes
  std::uint32_t at_ = 0;             // the next slot
  bool interface_refused_ = false;   // a frame of the last hand_over(), not the socket
  std::optional<Instant> refused_since_;
  Counter sent_, too_long_, dropped_, errors_, refused_;
};

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
  while (done < frames.size()) {
    const std::uint32_t first = at_;
    const std::uint32_t filled = fill(frames.subspan(done));
    const std::uint32_t taken = filled ? hand_over(first, filled) : 0;
    if (taken) {
      rte_pktmbuf_free_bulk(&frames[done], taken);
      sent_.add(taken);
      done += taken;
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

/// Copies frames into free slots, up to one that can't be sent. Returns their number.
std::uint32_t SendRing::fill(std::span<rte_mbuf*> frames) noexcept {
  std::uint32_t filled = 0;
  for (const rte_mbuf* frame : frames) {
    tpacket2_hdr* slot = socket_.slot(at_);
    if (status_of(slot) != TP_STATUS_AVAILABLE || !is_sendable(frame)) break;
    const std::size_t size = rte_pktmbuf_pkt_len(frame);
    std::byte* to = bytes_at(slot, kData);
    // All else in the header is 0, as the ring was at first.
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

/// Has the kernel send `filled` slots from `first` on. Returns how many it took; takes the others
/// back.
std::uint32_t SendRing::hand_over(std::uint32_t first, std::uint32_t filled) noexcept {
  constexpr std::uint32_t kNotTaken = TP_STATUS_SEND_REQUEST | TP_STATUS_WRONG_FORMAT;
  const auto result = ::send(socket_.fd(), nullptr, 0, MSG_DONTWAIT);
  interface_refused_ = result < 0 && errno == ENOBUFS;
  const std::uint32_t last = at_ == 0 ? socket_.slots() - 1 : at_ - 1;
  if ((status_of(socket_.slot(last)) & kNotTaken) == 0) [[likely]]
    return filled;
  std::uint32_t taken = 0, slot = first;
  for (; (status_of(socket_.slot(slot)) & kNotTaken) == 0; slot = socket_.after(slot)) ++taken;
  // The kernel goes on at the first slot that it has not taken.
  at_ = slot;
  for (std::uint32_t left = filled - taken; left > 0; --left, slot = socket_.after(slot))
    set_status(socket_.slot(slot), TP_STATUS_AVAILABLE);
  return taken;
}

void SendRing::drop_unsendable(rte_mbuf* frame) noexcept {
  (rte_pktmbuf_pkt_len(frame) < kEthernetHeader ? errors_ : too_long_).add();
  rte_pktmbuf_free(frame);
}

/// Drops a frame that an interface with a link has refused for kPatience. Its queue is full for a
/// short time only, but veth also refuses, and for good, frames that its peer would not take. True:
/// dropped.
bool SendRing::drop_refused(rte_mbuf* frame) noexcept {
  if (!interface_refused_) return false;
  refused_.add();
  const Instant at = now();
  if (!refused_since_) refused_since_ = at;
  // veth lets one tag pass beside the MTU, not two.
  const bool long_tags = rte_pktmbuf_pkt_len(frame) >
                         mtu_.load(std::memory_order_relaxed) + kEthernetHeader + kTagSize;
  if (!long_tags && at - *refused_since_ < kPatience) return false;
  if (!interface_->is_running()) {
    refused_since_ = at;
    return false;
  }
  (long_tags ? too_long_ : dropped_).add();
  rte_pktmbuf_free(frame);
  return true;
}

PacketPort::PacketPort(std::string interface) : interface_(std::move(interface)) {}
PacketPort::~PacketPort() = default;

Result<std::unique_ptr<PacketPort>> PacketPort::open(const PortSpec& spec, const Pool& pool,
                                                     std::uint16_t send_queues) {
  std::unique_ptr<PacketPort> port(new PacketPort(spec.as<InterfacePort>()->interface));
  if (auto opened = port->open_rings(spec, pool, send_queues); !opened)
    return std::unexpected(opened.error());
  port->restart_counts();
  return port;
}

Result<void> PacketPort::open_rings(const PortSpec& spec, const Pool& pool,
                                    std::uint16_t send_queues) {
  if (!interface_.mac_address())
    return fail(fmt::format("port `{}`: its frames are not Ethernet's", spec.text),
                ExitCode::environment);
  bound_to_ = interface_.index();
  receive_ = std::make_unique<ReceiveRing>(pool);
  if (auto opened = receive_->open(spec.text, bound_to_); !opened) return opened;
  for (std::uint16_t queue = 0; queue < send_queues; ++queue) {
    send_.push_back(std::make_unique<SendRing>());
    auto opened = send_.back()->open(spec.text, interface_, spec.as<InterfacePort>()->queueing,
                                     pool.config().frame_size);
    if (!opened) return opened;
  }
  return {};
}

std::uint64_t PacketPort::ring_bytes(std::uint32_t frame_size) noexcept {
  const std::uint64_t blocks = blocks_for(kReceiveSlot, kReceiveSlots) +
                               blocks_for(SendRing::slot_for(frame_size), kSendSlots);
  return blocks * kBlock;
}

std::size_t PacketPort::receive(std::span<rte_mbuf*> out) noexcept {
  return receive_->receive(out);
}

std::size_t PacketPort::send(std::span<rte_mbuf*> frames, std::uint16_t queue) noexcept {
  return send_[queue]->send(frames);
}

PortStats PacketPort::stats() const {
  const std::lock_guard lock(mutex_);
  return count();
}

PortStats PacketPort::count() const {
  const InterfaceLosses lost = interface_.losses().value_or(before_);
  PortStats stats;
  stats.received = receive_->received();
  stats.too_long = receive_->too_long();
  stats.receive_errors = receive_->errors() + (lost.received_errors - before_.received_errors);
  stats.missed = receive_->missed() - missed_before_ +
                 (lost.received_missed - before_.received_missed) +
                 backlog_losses(backlog_drops() - backlog_before_,
                                lost.received_dropped - before_.received_dropped,
                                receive_->tagged() - tagged_before_);
  if (at_end_) {
    stats.missed = at_end_->missed;
    stats.receive_errors = at_end_->receive_errors;
  }
  std::uint32_t dropped = lost.sent_dropped - before_.sent_dropped;
  for (const auto& ring : send_) {
    stats.sent += ring->sent();
    stats.unsent_too_long += ring->too_long();
    stats.unsent_dropped += ring->dropped();
    stats.send_errors += ring->errors();
    dropped -= static_cast<std::uint32_t>(std::min<std::uint64_t>(dropped, ring->refused()));
  }
  stats.unsent_dropped += dropped;
  stats.send_errors += lost.sent_errors - before_.sent_errors;
  return stats;
}

void PacketPort::restart_counts() {
  const std::lock_guard lock(mutex_);
  missed_before_ = receive_->missed();
  backlog_before_ = backlog_drops();
  tagged_before_ = receive_->tagged();
  before_ = interface_.losses().value_or(before_);
}

bool PacketPort::bind_again() {
  const std::lock_guard lock(mutex_);
  const unsigned index = interface_.index();
  if (index == 0 || !receive_->bind(interface_.name(), index)) return false;
  for (const auto& ring : send_)
    if (!ring->bind(interface_.name(), index)) return false;
  before_ = interface_.losses().value_or(InterfaceLosses{});
  tagged_before_ = receive_->tagged();
  bound_to_ = index;
  return true;
}

void PacketPort::end_receiving() {
  const std::lock_guard lock(mutex_);
  at_end_ = count();
}

}  // namespace lw::nic
