// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "gen/tx/tx_group.h"
#include "nic/idle.h"
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

  /// Allocates up to out.size() buffers and returns how many. Each has one reference and one
  /// segment; the caller sets data offset and lengths.
  std::size_t allocate(std::span<rte_mbuf*> out) noexcept;

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

  /// `port` and `pool`, from which add() takes buffers, must outlive the burst. `idle`: what send()
  /// does while the port takes no frame. A sleep may empty the ring of a fast NIC, but saves the
  /// core's time (5 GiB into a slower roce-impair: 1.3 s of CPU time instead of 1.8 s).
  TxBurst(nic::Port& port, const nic::Pool& pool, std::uint16_t queue = 0,
          IdleMode idle = IdleMode::yield)
      : port_(&port), pool_(&pool), queue_(queue), idle_(idle, 1) {}
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
    have_ += buffers.allocate(std::span(buffers_).subspan(have_));
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
  nic::Idle idle_;
  bool stuck_ = false;               // the port took no frame of the last burst
  std::size_t size_ = 0, have_ = 0;  // frames in buffers_; frames and spare buffers
  std::array<rte_mbuf*, kFrames> buffers_{};
};

/// A burst of frames of flows for one queue of a port, with the properties that are counted. One
/// thread.
class FlowBurst {
 public:
  static constexpr std::size_t kFrames = TxBurst::kFrames;

  /// `audit` gets each burst's pacing error, and checks some of the frames. With `keep_copies`,
  /// copies of the sent frames are kept until the next Filling. All arguments must outlive this.
  FlowBurst(nic::Port& port, std::uint16_t queue, SendBuffers& buffers, SendAudit& audit,
            bool keep_copies)
      : burst_(port, buffers.pool(), queue),
        buffers_(&buffers),
        audit_(&audit),
        timed_(port.timed_sending()),
        copies_(keep_copies ? kFrames : 0),
        scratch_(SendBuffers::kPayloadAt + FrameTemplate::kTailroom) {}

  /// True if the port sends each frame at its due time, so that it may get frames earlier.
  [[nodiscard]] bool is_timed() const noexcept { return timed_.has_value(); }
  void follow_clock(Instant now) {
    if (timed_) timed_->follow(now);
  }

  /// Adds frames to a burst. It holds the burst's counts in local variables: after each byte
  /// written to a frame the compiler would have to read them from the burst again. One at a time;
  /// end it with close().
  class Filling {
   public:
    explicit Filling(FlowBurst& burst) noexcept : burst_(&burst) {
      if (burst.count_ == 0) burst.burst_.refill(*burst.buffers_);
      spare_ = burst.burst_.spare();
      space_ = kFrames - burst.count_;
      groups_ = burst.group_count_;
    }
    void close() noexcept {
      burst_->burst_.add_spare(burst_->burst_.spare().size() - spare_.size());
      burst_->count_ = kFrames - space_;
      burst_->group_count_ = groups_;
    }
    /// Number of frames that the burst can still take.
    [[nodiscard]] std::size_t space() const noexcept { return space_; }

    /// Free buffers for the next frames.
    [[nodiscard]] std::span<rte_mbuf* const> buffers() const noexcept { return spare_; }
    /// Adds the first `frames` of buffers(): frames of `flow`, the first one due `at`.
    void add(std::uint32_t flow, std::uint32_t frames, Duration at,
             const FrameInfo& info) noexcept {
      spare_ = spare_.subspan(frames);
      note({.flow = flow, .frames = frames, .info = info}, at);
    }
    /// Flow of each next frame. Set it before add() with TxGroup::kSeveral.
    [[nodiscard]] std::span<std::uint32_t> flows() noexcept {
      return std::span(burst_->flows_).last(space_);
    }
    /// Adds a frame for which no buffer is free; it will not be sent.
    void add_without_buffer(std::uint32_t flow, Duration at, const FrameInfo& info) noexcept {
      note({.flow = flow, .frames = 1, .info = info}, at);
    }
    /// Memory in which to encode the payload of a frame for which no buffer is free.
    [[nodiscard]] std::byte* scratch() noexcept {
      return burst_->scratch_.data() + SendBuffers::kPayloadAt;
    }
    /// Sets a frame's due time. Requires is_timed().
    void set_due(rte_mbuf* buffer, Instant due) noexcept { burst_->timed_->stamp(buffer, due); }

   private:
    void note(const TxGroup& group, Duration at) noexcept {
      if (groups_ == 0) burst_->first_due_ = at;
      burst_->groups_[groups_++] = group;
      space_ -= group.frames;
    }

    FlowBurst* burst_;
    std::span<rte_mbuf* const> spare_;
    std::size_t space_ = 0, groups_ = 0;
  };

  struct Outcome {
    std::span<const TxGroup> groups;
    std::span<const std::uint32_t> flows;  // by frame, where a group is of several flows
    std::size_t sent = 0;                  // first frames of the groups; the others are dropped
    bool complete = true;                  // all were sent
    std::int64_t wall_clock_ns = 0;        // just before sending; with copies only
    Instant clock{};                       // last reading of the clock; 0 without frames
  };
  /// Sends the burst (see TxBurst::send()). Due times count from `start`. The outcome is valid
  /// until the next Filling.
  Outcome send(Instant start) noexcept;

  /// Copy of frame `i` of the outcome. Requires that it was sent.
  [[nodiscard]] wire::Bytes copy(std::size_t i) const noexcept { return copies_[i]; }

 private:
  void make_copies();

  TxBurst burst_;
  SendBuffers* buffers_;
  SendAudit* audit_;
  std::array<TxGroup, kFrames> groups_;
  std::array<std::uint32_t, kFrames> flows_{};  // by frame, where a group is of several flows
  Duration first_due_{};                        // of the burst's frames
  std::size_t group_count_ = 0;
  std::size_t count_ = 0;  // frames, with or without a buffer
  std::optional<nic::TimedSending> timed_;
  std::vector<std::vector<std::byte>> copies_;
  std::vector<std::byte> scratch_;  // for frames without a buffer
};

}  // namespace lw::gen
