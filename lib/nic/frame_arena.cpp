// SPDX-License-Identifier: BSD-3-Clause
#include "nic/frame_arena.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <sys/mman.h>

#include <fmt/core.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include "core/quantity.h"

namespace lw::nic {
namespace {

constexpr std::uint64_t kArenaStep = 2 * 1024 * 1024;
constexpr std::uint32_t kWireOverhead = 24;

/// Copies the header fields of a buffer, for a frame in a single unshared buffer.
inline void copy_fields(rte_mbuf& copy, const rte_mbuf& frame) noexcept {
  copy.data_off = 0;
  rte_mbuf_refcnt_set(&copy, 1);
  copy.nb_segs = 1;
  copy.port = frame.port;
  copy.ol_flags = frame.ol_flags & ~(RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL);
  copy.packet_type = frame.packet_type;
  copy.pkt_len = frame.pkt_len;
  copy.data_len = frame.data_len;
  copy.vlan_tci = frame.vlan_tci;
  copy.vlan_tci_outer = frame.vlan_tci_outer;
  copy.hash = frame.hash;
  copy.next = nullptr;
  copy.tx_offload = frame.tx_offload;
  copy.shinfo = nullptr;
  copy.priv_size = 0;
}

}  // namespace

/// The arena is a chain of blocks, live (with a frame) or free, and the free space at `head`.
struct FrameArena::State {
  /// Memory of an arena: EAL's if a device reads it, otherwise anonymous.
  struct Memory {
    std::byte* begin = nullptr;
    std::uint64_t bytes = 0;
    rte_iova_t iova = 0;
    const rte_memzone* zone = nullptr;

    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
      if (zone) {
        rte_memzone_free(zone);
      } else if (begin) {
        munmap(begin, bytes);
      }
    }

    bool reserve(const std::string& name, std::uint64_t wanted) {
      zone = rte_memzone_reserve_aligned(name.c_str(), wanted, SOCKET_ID_ANY,
                                         RTE_MEMZONE_IOVA_CONTIG, RTE_CACHE_LINE_SIZE);
      if (!zone) return false;
      begin = static_cast<std::byte*>(zone->addr);
      bytes = wanted;
      iova = zone->iova;
      return true;
    }
    /// Maps memory and writes to all pages, so that the kernel provides them now and not while
    /// frames pass.
    bool map(std::uint64_t wanted) {
      void* memory =
          mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return false;
      madvise(memory, wanted, MADV_HUGEPAGE);  // a hint; ordinary pages work too
      std::memset(memory, 0, wanted);
      begin = static_cast<std::byte*>(memory);
      bytes = wanted;
      iova = reinterpret_cast<std::uintptr_t>(memory);
      return true;
    }
  };

  using Mark = std::atomic<std::uint16_t>;
  static constexpr std::uint16_t kLive = 0x8000;
  // Limit of free blocks merged, or live blocks skipped, for one frame: it bounds the time.
  static constexpr int kMostSteps = 96;
  static constexpr std::uint16_t kLargestBlock = 128;

  Memory memory;
  rte_mempool* pool = nullptr;
  std::unique_ptr<Mark[]> marks;  // by unit: block start, size in units, and kLive
  std::uint32_t units = 0;
  std::uint32_t head = 0;  // start of the free space
  std::uint32_t room = 0;  // its size in units; no mark describes it

  ~State() { rte_mempool_free(pool); }
  static int operations();
  bool create_pool(const std::string& name);
  void divide();
  void leave_room() noexcept;
  std::byte* allocate(std::uint32_t wanted) noexcept;
  void give_back(const void* block) noexcept;
};

/// Registers an arena's operations with DPDK's pools. Returns their index; negative if DPDK has no
/// room.
int FrameArena::State::operations() {
  static const int index = [] {
    rte_mempool_ops all{};
    std::strncpy(all.name, "longwire_arena", sizeof all.name - 1);
    all.alloc = [](rte_mempool*) { return 0; };
    all.enqueue = [](rte_mempool* pool, void* const* blocks, unsigned count) {
      auto& state = *static_cast<State*>(pool->pool_data);
      for (unsigned i = 0; i < count; ++i) state.give_back(blocks[i]);
      return 0;
    };
    all.dequeue = [](rte_mempool*, void**, unsigned) { return -ENOBUFS; };
    all.get_count = [](const rte_mempool*) { return 0U; };
    return rte_mempool_register_ops(&all);
  }();
  return index;
}

bool FrameArena::State::create_pool(const std::string& name) {
  const int index = operations();
  if (index < 0) return false;
  pool = rte_mempool_create_empty(name.c_str(), 1, sizeof(rte_mbuf), 0,
                                  sizeof(rte_pktmbuf_pool_private), SOCKET_ID_ANY, 0);
  if (!pool) return false;
  pool->ops_index = index;
  pool->pool_data = this;
  std::memset(rte_mempool_get_priv(pool), 0, sizeof(rte_pktmbuf_pool_private));
  return true;
}

/// Divides free space into blocks, so that a frame never merges more than it needs and one block.
void FrameArena::State::divide() {
  units = static_cast<std::uint32_t>(memory.bytes / kUnit);
  marks = std::make_unique<Mark[]>(units);
  for (std::uint32_t at = 0; at < units; at += kLargestBlock)
    marks[at] = static_cast<std::uint16_t>(std::min<std::uint32_t>(kLargestBlock, units - at));
}

void FrameArena::State::leave_room() noexcept {
  if (room > 0) marks[head].store(static_cast<std::uint16_t>(room), std::memory_order_relaxed);
  room = 0;
}

std::byte* FrameArena::State::allocate(std::uint32_t wanted) noexcept {
  for (int steps = 0; room < wanted; ++steps) {
    if (steps == kMostSteps) return nullptr;
    const std::uint32_t next = head + room;
    if (next == units) {
      leave_room();
      head = 0;
      continue;
    }
    const std::uint16_t block = marks[next].load(std::memory_order_acquire);
    if (block & kLive) {
      leave_room();
      head = next + (block & ~kLive);
    } else {
      room += block;
    }
  }
  std::byte* const place = memory.begin + std::size_t{head} * kUnit;
  marks[head].store(static_cast<std::uint16_t>(wanted | kLive), std::memory_order_relaxed);
  head += wanted;
  room -= wanted;
  return place;
}

void FrameArena::State::give_back(const void* block) noexcept {
  Mark& mark =
      marks[static_cast<std::size_t>(static_cast<const std::byte*>(block) - memory.begin) / kUnit];
  mark.store(mark.load(std::memory_order_relaxed) & static_cast<std::uint16_t>(~kLive),
             std::memory_order_release);
}

FrameArena::FrameArena(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
FrameArena::FrameArena(FrameArena&&) noexcept = default;
FrameArena& FrameArena::operator=(FrameArena&&) noexcept = default;
FrameArena::~FrameArena() = default;

Result<FrameArena> FrameArena::create(const std::string& name, std::uint64_t bytes,
                                      bool eal_memory) {
  bytes = (bytes + kArenaStep - 1) / kArenaStep * kArenaStep;
  auto state = std::make_unique<State>();
  State::Memory& memory = state->memory;
  if (!(eal_memory ? memory.reserve(name, bytes) : memory.map(bytes)) || !state->create_pool(name))
    return fail(fmt::format("no memory for frames that wait ({}): {}",
                            format_bytes(static_cast<double>(bytes)),
                            eal_memory ? rte_strerror(rte_errno) : std::strerror(errno)),
                ExitCode::environment);
  state->divide();
  return FrameArena(std::move(state));
}

rte_mbuf* FrameArena::copy(const rte_mbuf* frame) noexcept {
  State& state = *state_;
  if (frame->nb_segs != 1 || frame->pool == state.pool) return nullptr;
  const std::uint32_t bytes = bytes_of(frame->data_len);
  std::byte* const place = state.allocate(bytes / kUnit);
  if (!place) return nullptr;
  std::byte* const data = place + kHead;
  auto* copy = reinterpret_cast<rte_mbuf*>(place);
  copy->buf_addr = data;
  rte_mbuf_iova_set(copy, state.memory.iova + static_cast<rte_iova_t>(data - state.memory.begin));
  copy->buf_len = static_cast<std::uint16_t>(bytes - kHead);
  copy->pool = state.pool;
  copy_fields(*copy, *frame);
  std::memcpy(data, rte_pktmbuf_mtod(frame, const void*), frame->data_len);
  return copy;
}

rte_mempool* FrameArena::pool() const noexcept { return state_->pool; }

std::uint64_t FrameArena::frames() const noexcept {
  std::uint64_t count = 0;
  for (std::uint32_t at = 0; at < state_->units;) {
    if (at == state_->head && state_->room > 0) {
      at += state_->room;
      continue;
    }
    const std::uint16_t block = state_->marks[at].load(std::memory_order_acquire);
    count += (block & State::kLive) != 0;
    at += block & static_cast<std::uint16_t>(~State::kLive);
  }
  return count;
}

/// A frame takes most memory per byte on the wire if it is the smallest, or if it just exceeds a
/// unit.
std::uint64_t FrameArena::bytes_for(std::uint64_t frames, std::uint32_t smallest,
                                    std::uint32_t largest) noexcept {
  const auto share = [](std::uint32_t length) {
    return static_cast<double>(bytes_of(length)) / (length + kWireOverhead);
  };
  const std::uint32_t next = (smallest + kUnit - 1) / kUnit * kUnit + 1;
  const double most = std::max(share(smallest), next <= largest ? share(next) : 0);
  const double wire_bytes = static_cast<double>(frames) * (smallest + kWireOverhead);
  // A frame that is too long for the rest of the arena leaves that rest unused.
  return static_cast<std::uint64_t>(std::ceil(wire_bytes * most)) + bytes_of(largest);
}

}  // namespace lw::nic
