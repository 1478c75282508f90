// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "gen/traffic/hot_flow.h"
#include "nic/pool.h"

namespace lw::gen {

/// Buffers that nobody but senders write into, so that each still holds, when it comes back, what
/// was sent in it: mostly another frame of the same flow, payload and all.
class SendBuffers {
 public:
  static constexpr nic::PoolConfig kUsual = {.buffers = 8192, .frame_size = 4400};
  /// Where payloads start, in bytes from the buffer's start: on a cache line of its own, so that a
  /// frame's moving fields are in one or two.
  static constexpr std::size_t kPayloadAt = 256;

  /// Errors (environment): the pool's, or no room for the imprint in DPDK's buffers.
  static Result<SendBuffers> create(const std::string& name, const nic::PoolConfig& config);

  /// Takes as many as there are, up to out.size(); the first ones of `out` get them. Each has one
  /// reference and one segment; data offset and lengths are the caller's to set.
  std::size_t take(std::span<rte_mbuf*> out) noexcept;

  /// Where in a buffer its imprint stands.
  [[nodiscard]] int imprint_offset() const noexcept { return imprint_offset_; }
  /// Where a frame's payload goes in a buffer, and what the buffer still holds.
  [[gnu::always_inline]] static HotFlow::Place place_in(rte_mbuf* buffer,
                                                        int imprint_offset) noexcept {
    return {static_cast<std::byte*>(buffer->buf_addr) + kPayloadAt,
            RTE_MBUF_DYNFIELD(buffer, imprint_offset, BufferTag*)};
  }
  /// The frame in a buffer begins so many bytes before its payload, and is of that size.
  [[gnu::always_inline]] static void set_lengths(rte_mbuf* buffer, std::size_t headers,
                                                 std::uint16_t size) noexcept {
    buffer->data_off = static_cast<std::uint16_t>(kPayloadAt - headers);
    buffer->data_len = size;
    buffer->pkt_len = size;
  }
  [[nodiscard]] const nic::Pool& pool() const noexcept { return pool_; }

 private:
  SendBuffers(nic::Pool pool, int imprint_offset)
      : pool_(std::move(pool)), imprint_offset_(imprint_offset) {}

  nic::Pool pool_;
  int imprint_offset_;
};

}  // namespace lw::gen
