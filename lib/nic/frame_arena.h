// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/error.h"

struct rte_mbuf;
struct rte_mempool;

namespace lw::nic {

/// Memory for frames that wait. A frame takes its own length in it and 128 B for the head of its
/// buffer, each rounded up to 64 B; a buffer of a Pool has the size of the largest frame.
///
/// Frames lie one behind the other in the order in which they were copied in. At its end the arena
/// begins anew, and leaves out frames that are still there. So what waits for a constant time needs
/// as much memory as arrives in that time, whatever the lengths are.
///
/// One thread copies frames in. DPDK frees them like any other buffer, on any thread.
class FrameArena {
 public:
  /// `name` is unique in the process. Error (environment): not enough memory, with the size
  /// requested. `eal_memory`: see needs_eal_memory().
  static Result<FrameArena> create(const std::string& name, std::uint64_t bytes, bool eal_memory);

  FrameArena(FrameArena&&) noexcept;
  FrameArena& operator=(FrameArena&&) noexcept;
  /// Requires that all its frames were freed before.
  ~FrameArena();

  /// A copy of a frame with its offload fields, and without its dynamic fields. Null: the arena has
  /// no room, or the frame lies in it already, or in several buffers. The caller owns both.
  rte_mbuf* copy(const rte_mbuf* frame) noexcept;

  /// The pool that frames of the arena name as their own; nothing can be allocated from it.
  [[nodiscard]] rte_mempool* pool() const noexcept;
  /// Number of frames inside. Slow: for tests and reports.
  [[nodiscard]] std::uint64_t frames() const noexcept;

  /// What a frame of `length` bytes takes, in bytes.
  static constexpr std::uint32_t bytes_of(std::uint32_t length) noexcept {
    return kHead + (length + kUnit - 1) / kUnit * kUnit;
  }
  /// Size of an arena, in bytes, that has room for `frames` frames of `smallest` B, or for longer
  /// ones, up to `largest` B, that take as long on the wire (where each frame has 24 B more: FCS,
  /// preamble and gap).
  static std::uint64_t bytes_for(std::uint64_t frames, std::uint32_t smallest,
                                 std::uint32_t largest) noexcept;

 private:
  static constexpr std::uint32_t kUnit = 64, kHead = 128;
  struct State;
  explicit FrameArena(std::unique_ptr<State> state) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace lw::nic
