// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"

struct rte_mbuf;
struct rte_mempool;

namespace lw::nic {

/// Memory for waiting frames. A frame takes its own length and 128 B for its buffer's header, each
/// rounded up to 64 B; a buffer of a Pool always has the size of the largest frame.
///
/// Frames are stored one after the other in the order in which they are copied in. At its end the
/// arena continues at its start, and skips frames that are still there. So frames that wait for a
/// constant time need as much memory as arrives in that time, whatever their lengths.
///
/// One thread copies frames in. DPDK frees them like other buffers, on any thread.
class FrameArena {
 public:
  /// `name` is unique in the process. `eal_memory`: see needs_eal_memory(). Error (environment):
  /// not enough memory; the message states the size.
  static Result<FrameArena> create(const std::string& name, std::uint64_t bytes, bool eal_memory);

  FrameArena(FrameArena&&) noexcept;
  FrameArena& operator=(FrameArena&&) noexcept;
  /// Requires that all its frames are freed.
  ~FrameArena();

  /// Returns a copy of a frame with its offload fields, but without its dynamic fields; null if the
  /// arena has no room, or if the frame is already in it or has several buffers. The caller owns
  /// both frames.
  rte_mbuf* copy(const rte_mbuf* frame) noexcept;

  /// The pool to which the arena's frames belong; nothing can be allocated from it.
  [[nodiscard]] rte_mempool* pool() const noexcept;
  /// Number of frames inside. Slow: for tests and reports.
  [[nodiscard]] std::uint64_t frames() const noexcept;

  /// Returns the memory that a frame of `length` bytes takes, in bytes.
  static constexpr std::uint32_t bytes_of(std::uint32_t length) noexcept {
    return kHead + (length + kUnit - 1) / kUnit * kUnit;
  }
  /// Returns the size in bytes of an arena for `frames` frames of `smallest` B, or for longer
  /// frames, up to `largest` B, that take the same time on the wire (where each frame has 24 B
  /// more: FCS, preamble and gap).
  static std::uint64_t bytes_for(std::uint64_t frames, std::uint32_t smallest,
                                 std::uint32_t largest) noexcept;

 private:
  static constexpr std::uint32_t kUnit = 64, kHead = 128;
  struct State;
  explicit FrameArena(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace lw::nic
