// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "emulator/transit.h"
#include "roce/envelope.h"

namespace lw::impair {

/// Whether someone else holds the frame's bytes, too: they must not be changed then.
inline bool is_shared(const rte_mbuf* frame) noexcept {
  return rte_mbuf_refcnt_read(frame) > 1 || !RTE_MBUF_DIRECT(frame);
}

inline roce::Envelope envelope_of(rte_mbuf* frame) noexcept {
  const auto* data = rte_pktmbuf_mtod(frame, const std::byte*);
  return roce::open_envelope({data, rte_pktmbuf_data_len(frame)}, rte_pktmbuf_pkt_len(frame));
}

/// Who else holds the frame itself, and so the room for its Transit.
inline bool is_held_by_others(const rte_mbuf* frame) noexcept {
  return rte_mbuf_refcnt_read(frame) > 1;
}

/// A link's way to DPDK's frames. All headers lie in a frame's first buffer, however many it
/// takes; what stages change lies there, too.
struct MbufAccess {
  /// Makes room in every buffer for a Transit, in the line that a device reads when it frees it.
  /// Once EAL has started, before the first frame. False: there is none left.
  static bool make_room() noexcept;
  static emulator::Transit& transit(rte_mbuf* frame) noexcept {
    return *RTE_MBUF_DYNFIELD(frame, room_offset, emulator::Transit*);
  }

  static wire::MutableBytes writable(rte_mbuf* frame) noexcept {
    if (is_shared(frame)) return {};
    return {rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_data_len(frame)};
  }
  static std::optional<rte_mbuf*> clone(rte_mbuf* frame) noexcept {
    rte_mbuf* copy = rte_pktmbuf_copy(frame, frame->pool, 0, UINT32_MAX);
    return copy ? std::optional(copy) : std::nullopt;
  }
  static void free(rte_mbuf* frame) noexcept { rte_pktmbuf_free(frame); }
  /// A device reads the first line of a buffer's head, and the second when it frees it.
  static void fetch(rte_mbuf* frame) noexcept {
    rte_mbuf_prefetch_part1(frame);
    rte_mbuf_prefetch_part2(frame);
  }
  /// One that copies frames reads their bytes, too: the lines that most consist of, or begin with.
  static void fetch_all(rte_mbuf* frame) noexcept {
    fetch(frame);
    const auto* data = rte_pktmbuf_mtod(frame, const char*);
    rte_prefetch0(data);
    rte_prefetch0(data + RTE_CACHE_LINE_SIZE);
  }
  static wire::Bytes bytes(const rte_mbuf* frame) noexcept {
    return {rte_pktmbuf_mtod(frame, const std::byte*), rte_pktmbuf_data_len(frame)};
  }
  static std::uint32_t length(const rte_mbuf* frame) noexcept { return rte_pktmbuf_pkt_len(frame); }
  static roce::Envelope open(rte_mbuf* frame) noexcept { return envelope_of(frame); }

 private:
  static inline int room_offset = 0;
};

/// The first buffer's: all of a frame that isn't spread over several.
inline std::span<const std::byte> bytes_of(const rte_mbuf* frame) noexcept {
  return MbufAccess::bytes(frame);
}

}  // namespace lw::impair
