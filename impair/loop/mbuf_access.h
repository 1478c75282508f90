// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <span>

#include <rte_mbuf.h>

#include "roce/envelope.h"

namespace lw::impair {

/// Whether someone else holds the frame's bytes, too: they must not be changed then.
inline bool is_shared(const rte_mbuf* frame) noexcept {
  return rte_mbuf_refcnt_read(frame) > 1 || !RTE_MBUF_DIRECT(frame);
}

/// A lane's way to DPDK's frames. All headers lie in a frame's first buffer, however many it
/// takes; what stages change lies there, too.
struct MbufAccess {
  static wire::MutableBytes writable(rte_mbuf* frame) noexcept {
    if (is_shared(frame)) return {};
    return {rte_pktmbuf_mtod(frame, std::byte*), rte_pktmbuf_data_len(frame)};
  }
  static std::optional<rte_mbuf*> clone(rte_mbuf* frame) noexcept {
    rte_mbuf* copy = rte_pktmbuf_copy(frame, frame->pool, 0, UINT32_MAX);
    return copy ? std::optional(copy) : std::nullopt;
  }
  static void free(rte_mbuf* frame) noexcept { rte_pktmbuf_free(frame); }
};

/// The first buffer's: all of a frame that isn't spread over several.
inline std::span<const std::byte> bytes_of(const rte_mbuf* frame) noexcept {
  return {rte_pktmbuf_mtod(frame, const std::byte*), rte_pktmbuf_data_len(frame)};
}

inline roce::Envelope envelope_of(rte_mbuf* frame) noexcept {
  const auto* data = rte_pktmbuf_mtod(frame, const std::byte*);
  return roce::open_envelope({data, rte_pktmbuf_data_len(frame)}, rte_pktmbuf_pkt_len(frame));
}

}  // namespace lw::impair
