// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "emulator/decision.h"

namespace lw::emulator {

inline constexpr std::uint32_t kNotLogged = 0xffffffff;

/// What is known of a frame between its coming in and its going out, beside its handle.
///
/// Frames that came in one burst, one behind the other, and leave alike are a train: the first
/// one's Transit tells of all, and what the others carry means nothing. A frame by itself is a
/// train of one.
struct [[gnu::packed, gnu::aligned(4)]] Transit {
  static constexpr unsigned kNumberBits = 50, kFollowerBits = 5;
  static constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
  static constexpr std::size_t kMostFrames = std::size_t{1} << kFollowerBits;

  std::int64_t in_ns = 0;  // when it came in
  /// Ingress frame number; where `logged`, the frame's slot in the ledger, which has the number.
  std::uint64_t number_or_slot : kNumberBits = 0;
  std::uint64_t logged : 1 = 0;
  std::uint64_t copy : 8 = 0;                   // 0: the frame itself
  std::uint64_t followers : kFollowerBits = 0;  // of a train, behind its first; numbered on
  std::uint32_t bytes = 0;                      // without FCS; of a whole train
  StageSet::Bits acted = 0;                     // the decision's
  RuleIndex rule = kUntouched;
  EventAction aimed : 3 = EventAction::drop;
  bool queued : 1 = false;  // waited in the release queue

  [[nodiscard]] constexpr Instant in() const noexcept { return Instant{Duration{in_ns}}; }
  [[nodiscard]] constexpr std::size_t frames() const noexcept { return followers + 1U; }
  constexpr void set_frames(std::size_t count) noexcept { followers = (count - 1) % kMostFrames; }
  /// What tells of the `count`-th frame from here on.
  constexpr void skip(std::size_t count) noexcept {
    number_or_slot = (number_or_slot + count) & kNumberMask;
  }
};
// DPDK's buffers have 36 B to spare, from a multiple of 4 on; a driver may want the last 8 for a
// time stamp.
static_assert(sizeof(Transit) == 28);
static_assert(sizeof(Transit::acted) * 8 >= kStages, "widen Transit::acted to hold kStages");

/// `train` keeps its first `count` frames; of those behind, which have `bytes`, is returned what is
/// known. 0 < count < train.frames().
constexpr Transit cut(Transit& train, std::size_t count, std::uint32_t bytes) noexcept {
  Transit rest = train;
  rest.skip(count);
  rest.set_frames(train.frames() - count);
  rest.bytes = bytes;
  train.set_frames(count);
  train.bytes -= bytes;
  return rest;
}

}  // namespace lw::emulator
