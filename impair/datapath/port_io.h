// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <span>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "emulator/transit.h"
#include "impair/datapath/forwarder.h"
#include "impair/record/recorder.h"
#include "nic/arrival_clock.h"
#include "nic/clock.h"
#include "nic/departure_stamps.h"
#include "nic/frame_arena.h"
#include "nic/port.h"
#include "roce/envelope.h"

namespace lw::impair {

/// True if the frame shares its bytes with another owner: they must not be changed.
inline bool is_shared(const rte_mbuf* frame) noexcept {
  return rte_mbuf_refcnt_read(frame) > 1 || !RTE_MBUF_DIRECT(frame);
}

inline roce::Envelope envelope_of(rte_mbuf* frame) noexcept {
  const auto* data = rte_pktmbuf_mtod(frame, const std::byte*);
  return roce::open_envelope({data, rte_pktmbuf_data_len(frame)}, rte_pktmbuf_pkt_len(frame));
}

/// True if the frame itself has another owner, and so has its field for the Transit.
inline bool is_held_by_others(const rte_mbuf* frame) noexcept {
  return rte_mbuf_refcnt_read(frame) > 1;
}

/// A link's access to DPDK's frames; see emulator::FrameAccess. All headers, and all bytes that
/// stages change, lie in the first buffer of a frame.
class MbufAccess {
 public:
  // A longer frame is copied only when receive buffers are scarce: a copy would take too long.
  static constexpr std::uint32_t kSmallFrame = 256;
  // Receive buffers are scarce when fewer than these are free, without those in a thread's cache.
  static constexpr unsigned kFewBuffers = 1024;

  MbufAccess() = default;
  /// `arena`: for frames that wait; must outlive the object. Null: frames keep their buffers.
  explicit MbufAccess(nic::FrameArena* arena) noexcept : arena_(arena) {}

  [[nodiscard]] bool stores() const noexcept { return arena_ != nullptr; }
  /// Copies frames into the arena and frees their receive buffers. A frame stays where it is if it
  /// is longer than kSmallFrame and receive buffers are not scarce, or if the arena has no room.
  void store(std::span<rte_mbuf* const> frames, std::span<rte_mbuf*> stored) noexcept;

  /// Reserves a dynamic field for a Transit in every buffer, in the cache line that a device reads
  /// when it frees the buffer. Call it after EAL has started and before the first frame. Returns
  /// false if no space is left.
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
  static void free(rte_mbuf* frame) noexcept {
    nic::PoolOrder::release();
    rte_pktmbuf_free(frame);
  }
  /// Prefetches two cache lines of the buffer's header: a device reads the first to send the frame,
  /// the second to free it.
  static void fetch(rte_mbuf* frame) noexcept {
    rte_mbuf_prefetch_part1(frame);
    rte_mbuf_prefetch_part2(frame);
  }
  /// Like fetch(), and also the first two cache lines of the frame's bytes, for a device that
  /// copies frames.
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
  nic::FrameArena* arena_ = nullptr;
};

/// Returns the bytes in the frame's first buffer: the whole frame if it has only one.
inline std::span<const std::byte> bytes_of(const rte_mbuf* frame) noexcept {
  return MbufAccess::bytes(frame);
}

/// Input and output of one direction between two DPDK ports, in real time. One thread.
class PortIo {
 public:
  using Handle = rte_mbuf*;
  using Frames = MbufAccess;
  using Recorder = impair::Recorder;
  using Clock = Instant (*)() noexcept;

  static constexpr std::size_t kBurst = 32, kSendBurst = 64;
  static constexpr bool kBatches = true;
  static constexpr bool kPolls = true;  // frames wait in a port until they are received

  /// `pool`: buffers for pause frames. `clock`: a test may pass the times of a capture. `arena`:
  /// for frames of this direction that wait, or null. Ports, pool and arena must outlive the
  /// object.
  PortIo(emulator::Direction direction, nic::Port& from, nic::Port& to, rte_mempool* pool,
         Clock clock = nic::now, nic::FrameArena* arena = nullptr) noexcept
      : direction_(direction),
        from_(&from),
        to_(&to),
        pool_(pool),
        clock_(clock),
        arena_(arena),
        stamped_(from.has_stamps() && clock == nic::now),
        sends_singly_(clock == nic::now && to.stamp_departures()) {}

  [[nodiscard]] emulator::Direction direction() const noexcept { return direction_; }
  [[nodiscard]] Frames frames() const noexcept { return Frames(arena_); }
  [[nodiscard]] Instant now() const noexcept { return clock_(); }
  /// True if the input can wait while the link's queue is full; see nic::Port.
  [[nodiscard]] bool finite() const noexcept { return from_->finite(); }
  [[nodiscard]] bool exhausted() const noexcept { return from_->exhausted(); }

  /// Returns frames that have arrived, at most `most` and kBurst. The next call reuses the span.
  std::span<Handle> receive(std::size_t most) noexcept {
    const Instant before = stamped_ ? clock_() : Instant{};
    const auto frames = std::span(burst_).first(from_->receive(std::span(burst_).first(most)));
    if (stamped_) note_arrivals(frames.size(), before);
    // Prefetch: the bytes arrive in the cache while due frames are sent.
    for (const rte_mbuf* frame : frames) rte_prefetch0(rte_pktmbuf_mtod(frame, const void*));
    return frames;
  }
  /// True if the input port stamps frames when they arrive; without it, they arrive when they are
  /// received.
  [[nodiscard]] bool stamped() const noexcept { return stamped_; }
  /// When the frames of the last receive() arrived; at most now(). Only if stamped().
  [[nodiscard]] std::span<const Instant> arrivals() const noexcept { return arrivals_; }
  /// No frame arrives before it that is received later. Only if stamped().
  [[nodiscard]] Instant horizon() const noexcept { return arrival_clock_.earliest(); }
  /// How far off an arrival may be; see nic::Port.
  [[nodiscard]] std::optional<Duration> stamp_uncertainty() const noexcept {
    return from_->stamp_uncertainty();
  }
  /// Frames whose stamps cannot be: the clock has stepped.
  [[nodiscard]] std::uint64_t stepped() const noexcept { return arrival_clock_.stepped(); }

  /// True if send() gives the kernel one frame after another, each of which it sends at once.
  [[nodiscard]] bool hands_over_singly() const noexcept { return sends_singly_; }
  /// When the frames of the last send() left, of all or none; not in order if the clock has
  /// stepped. Only if hands_over_singly().
  [[nodiscard]] std::span<const Instant> departures() noexcept;
  /// Gives frames to the output port in order. Returns how many it took.
  std::size_t send(std::span<Handle> frames) noexcept { return to_->send(frames); }

  /// Replaces frames that have another owner by copies, because a frame carries its Transit while
  /// it is inside. If `edits`, also replaces frames that share their bytes. A frame stays as it is
  /// if no buffer is free for the copy. Returns the number of frames before the first frame that
  /// still has another owner.
  static std::size_t make_own(std::span<Handle> frames, bool edits) noexcept;
  static bool is_held_by_others(Handle frame) noexcept { return impair::is_held_by_others(frame); }
  /// Returns a new frame with these bytes; nothing if no buffer is free.
  std::optional<Handle> make_frame(std::span<const std::byte> bytes) noexcept;
  static void free(std::span<Handle> frames) noexcept {
    nic::PoolOrder::release();
    rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
  }
  /// Source address of pause frames.
  [[nodiscard]] wire::MacAddress source_address() const noexcept { return {to_->mac_address()}; }

  static std::span<const std::byte> bytes(Handle frame) noexcept { return bytes_of(frame); }
  static std::uint32_t wire_length(Handle frame) noexcept { return rte_pktmbuf_pkt_len(frame); }
  static roce::Envelope envelope(Handle frame) noexcept { return envelope_of(frame); }

 private:
  void note_arrivals(std::size_t frames, Instant before) noexcept;

  emulator::Direction direction_;
  nic::Port* from_;
  nic::Port* to_;
  rte_mempool* pool_;
  Clock clock_;
  nic::FrameArena* arena_;
  bool stamped_, sends_singly_;
  nic::ArrivalClock arrival_clock_;
  std::span<const Instant> arrivals_;
  std::array<Instant, nic::DepartureStamps::kMost> departures_{};
  std::array<rte_mbuf*, kBurst> burst_{};
};

using PortForwarder = Forwarder<PortIo>;
extern template class Forwarder<PortIo>;

}  // namespace lw::impair
