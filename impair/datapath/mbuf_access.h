// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "emulator/transit.h"
#include "roce/envelope.h"

namespace lw::impair {

/// Someone else holds the frame's bytes too: they must not be changed.
inline bool is_shared(const rte_mbuf* frame) noexcept {
  return rte_mbuf_refcnt_read(frame) > 1 || !RTE_MBUF_DIRECT(frame);
}

inline roce::Envelope envelope_of(rte_mbuf* frame) noexcept {
  const auto* data = rte_pktmbuf_mtod(frame, const std::byte*);
  return roce::open_envelope({data, rte_pktmbuf_data_len(frame)}, rte_pktmbuf_pkt_len(frame));
}

/// Someone else holds the frame itself, and with it the field for its Transit.
inline bool is_held_by_others(const rte_mbuf* frame) noexcept {
  return rte_mbuf_refcnt_read(frame) > 1;
}

/// A link's access to DPDK's frames; see emulator::FrameAccess. All headers, and all bytes that
/// stages change, lie in the first buffer of a frame.
struct MbufAccess {
  /// Reserves a dynamic field for a Transit in every buffer, in the cache line that a device reads
  /// when it frees the buffer. After EAL has started, before the first frame. False: no space left.
  static bool register_transit() noexcept {
    static constexpr rte_mbuf_dynfield kField = {.name = "longwire_transit",
                                                 .size = sizeof(emulator::Transit),
                                                 .align = alignof(emulator::Transit),
                                                 .flags = 0};
    transit_offset = rte_mbuf_dynfield_register(&kField);
    return transit_offset >= 0;
  }
  static emulator::Transit& transit(rte_mbuf* frame) noexcept {
    return *RTE_MBUF_DYNFIELD(frame, transit_offset, emulator::Transit*);
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
  /// For a device that copies frames: also the first lines of their bytes.
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
  static inline int transit_offset = 0;
};

/// Bytes of the first buffer: all of a frame that has only one.
inline std::span<const std::byte> bytes_of(const rte_mbuf* frame) noexcept {
  return MbufAccess::bytes(frame);
}

}  // namespace lw::impair
