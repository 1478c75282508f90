// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <span>

#include "impair/datapath/forwarder.h"
#include "impair/datapath/mbuf_access.h"
#include "impair/record/recorder.h"
#include "nic/clock.h"
#include "nic/port.h"

namespace lw::impair {

/// Input and output of one direction between two DPDK ports, in real time. One thread.
class PortIo {
 public:
  using Handle = rte_mbuf*;
  using Frames = MbufAccess;
  using Recorder = impair::Recorder;
  using Clock = Instant (*)() noexcept;

  static constexpr std::size_t kBurst = 32, kSendBurst = 64;
  static constexpr bool kBatches = true;

  /// `pool`: buffers for pause frames. `clock`: a test may give the times of a capture. Ports and
  /// pool must outlive the object.
  PortIo(emulator::Direction direction, nic::Port& from, nic::Port& to, rte_mempool* pool,
         Clock clock = nic::now) noexcept
      : direction_(direction), from_(&from), to_(&to), pool_(pool), clock_(clock) {}

  [[nodiscard]] emulator::Direction direction() const noexcept { return direction_; }
  [[nodiscard]] Frames frames() const noexcept { return {}; }
  [[nodiscard]] Instant now() const noexcept { return clock_(); }
  /// Input waits while the link's queue is full; see nic::Port.
  [[nodiscard]] bool finite() const noexcept { return from_->finite(); }
  [[nodiscard]] bool exhausted() const noexcept { return from_->exhausted(); }

  /// Returns frames that have arrived, at most `most` and kBurst. The next call reuses the span.
  std::span<Handle> receive(std::size_t most) noexcept {
    const auto frames = std::span(burst_).first(from_->receive(std::span(burst_).first(most)));
    // Their bytes arrive in the cache while the frames that are due leave.
    for (const rte_mbuf* frame : frames) rte_prefetch0(rte_pktmbuf_mtod(frame, const void*));
    return frames;
  }
  /// Hands frames to the output port in order. Returns how many it took.
  std::size_t send(std::span<Handle> frames) noexcept { return to_->send(frames); }

  /// Replaces frames that someone else holds by copies: a frame carries its Transit while it is
  /// inside, and if `edits`, its bytes may be changed. A frame stays as it is when there is no
  /// buffer for a copy. Returns the number of frames before the first such frame.
  static std::size_t make_own(std::span<Handle> frames, bool edits) noexcept;
  static bool is_held_by_others(Handle frame) noexcept { return impair::is_held_by_others(frame); }
  /// A new frame with these bytes; nothing without a free buffer.
  std::optional<Handle> make_frame(std::span<const std::byte> bytes) noexcept;
  static void free(std::span<Handle> frames) noexcept {
    rte_pktmbuf_free_bulk(frames.data(), static_cast<unsigned>(frames.size()));
  }
  /// Source address of pause frames.
  [[nodiscard]] wire::MacAddress source_address() const noexcept { return {to_->mac_address()}; }

  static std::span<const std::byte> bytes(Handle frame) noexcept { return bytes_of(frame); }
  static std::uint32_t wire_length(Handle frame) noexcept { return rte_pktmbuf_pkt_len(frame); }
  static roce::Envelope envelope(Handle frame) noexcept { return envelope_of(frame); }

 private:
  emulator::Direction direction_;
  nic::Port* from_;
  nic::Port* to_;
  rte_mempool* pool_;
  Clock clock_;
  std::array<rte_mbuf*, kBurst> burst_{};
};

using PortForwarder = Forwarder<PortIo>;
extern template class Forwarder<PortIo>;

}  // namespace lw::impair
