// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <span>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "gen/traffic/hot_flow.h"
#include "nic/pool.h"
#include "nic/port.h"
#include "wire/view.h"

namespace lw::gen {

/// A pool of buffers that only senders write to, so that each still holds the frame that was last
/// sent in it: mostly another frame of the same flow, with the same payload.
class SendBuffers {
 public:
  static constexpr nic::PoolConfig kUsual = {.buffers = 8192, .frame_size = 4400};
  /// Offset of payloads in a buffer, in bytes: the start of a cache line, so that a frame's
  /// variable fields are in one or two lines.
  static constexpr std::size_t kPayloadAt = 256;

  /// Errors (environment): the pool's, or no space for the tag in DPDK's buffers.
  static Result<SendBuffers> create(const std::string& name, const nic::PoolConfig& config);

  /// Takes up to out.size() buffers and returns how many. Each has one reference and one segment;
  /// the caller sets data offset and lengths.
  std::size_t take(std::span<rte_mbuf*> out) noexcept;

  /// Offset of the BufferTag in a buffer.
  [[nodiscard]] int tag_offset() const noexcept { return tag_offset_; }
  [[gnu::always_inline]] static FrameSlot slot_in(rte_mbuf* buffer, int tag_offset) noexcept {
    return {static_cast<std::byte*>(buffer->buf_addr) + kPayloadAt,
            RTE_MBUF_DYNFIELD(buffer, tag_offset, BufferTag*)};
  }
  /// Sets data offset and lengths for a frame of `size` bytes, `headers` of them before the
  /// payload.
  [[gnu::always_inline]] static void set_lengths(rte_mbuf* buffer, std::size_t headers,
                                                 std::uint16_t size) noexcept {
    buffer->data_off = static_cast<std::uint16_t>(kPayloadAt - headers);
    buffer->data_len = size;
    buffer->pkt_len = size;
  }
  [[nodiscard]] const nic::Pool& pool() const noexcept { return pool_; }

 private:
  SendBuffers(nic::Pool pool, int tag_offset) : pool_(std::move(pool)), tag_offset_(tag_offset) {}

  nic::Pool pool_;
  int tag_offset_;
};

/// Up to 32 frames for one queue of a port, sent together with a bounded retry. Frames are copied
/// or written into the burst by add(), or encoded in spare() buffers and then added by add_spare().
/// One thread.
class TxBurst {
 public:
  static constexpr std::size_t kFrames = 32;

  /// `port` and `pool`, from which add() takes buffers, must outlive the burst.
  TxBurst(nic::Port& port, const nic::Pool& pool, std::uint16_t queue = 0) noexcept
      : port_(&port), pool_(&pool), queue_(queue) {}
  TxBurst(TxBurst&& other) noexcept;
  TxBurst& operator=(TxBurst&&) = delete;
  ~TxBurst();

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool full() const noexcept { return size_ == kFrames; }
  [[nodiscard]] std::span<rte_mbuf* const> frames() const noexcept {
    return std::span(buffers_).first(size_);
  }

  /// Copies a frame, at most the pool's frame size, into the burst, which must not be full. Returns
  /// false if no buffer is free.
  bool add(wire::Bytes frame) noexcept;
  /// Adds a frame of `size` bytes, which the caller must write. Returns an empty span if no buffer
  /// is free.
  wire::MutableBytes add(std::size_t size) noexcept;

  /// Takes spare buffers for a whole burst, as far as there are. Don't combine with add().
  void refill(SendBuffers& buffers) noexcept {
    have_ += buffers.take(std::span(buffers_).subspan(have_));
  }
  [[nodiscard]] std::span<rte_mbuf* const> spare() const noexcept {
    return std::span(buffers_).subspan(size_, have_ - size_);
  }
  /// Adds the first `frames` spare buffers to the burst.
  void add_spare(std::size_t frames) noexcept { size_ += frames; }

  /// Sends the burst, and empties it. Offers frames that the port doesn't take again for up to
  /// 200 ms from `now`, but not if the port took none of the last burst either. Returns how many of
  /// the first frames the port took; the others are dropped.
  std::size_t send(Instant now) noexcept;

 private:
  [[nodiscard]] std::size_t retry(std::size_t sent, Instant deadline) noexcept;

  nic::Port* port_;
  const nic::Pool* pool_;
  std::uint16_t queue_;
  bool stuck_ = false;               // the port took no frame of the last burst
  std::size_t size_ = 0, have_ = 0;  // frames in buffers_; frames and spare buffers
  std::array<rte_mbuf*, kFrames> buffers_{};
};

}  // namespace lw::gen
