// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "core/time.h"
#include "emulator/decision.h"

namespace lw::emulator {

inline constexpr std::uint32_t kNotLogged = 0xffffffff;

/// The data of a frame while it is inside, besides its handle. 24 bytes: with 28 bytes the link
/// took 1.15 to 1.2 times as long per frame (bench_path), because copies of 28 bytes overlap.
///
/// A train is a group of consecutive frames of one burst that leave at the same time. The Transit
/// of its first frame describes the whole train; the other frames' Transits are not used. A single
/// frame is a train of one.
struct Transit {
  static constexpr unsigned kFollowerBits = 5, kRuleBits = 21;
  static constexpr std::size_t kMostFrames = std::size_t{1} << kFollowerBits;

  std::uint64_t bytes : 24 = 0;                 // bytes of the whole train, without FCS
  std::uint64_t rule : kRuleBits = kUntouched;  // RuleIndex
  std::uint64_t copy : 8 = 0;                   // 0: the frame itself; n: copy n
  std::uint64_t followers : kFollowerBits = 0;  // frames of the train after its first
  std::uint64_t aimed : 3 = 0;                  // EventAction
  std::uint64_t logged : 1 = 0;
  /// In the ledger, with what this and the frame itself say when the frame leaves: for frames of a
  /// batch, which nothing changes.
  std::uint64_t logged_late : 1 = 0;
  std::uint64_t queued : 1 = 0;  // waited in the release queue
  std::int64_t in_ns = 0;        // time of arrival
  /// The low 32 bits of the ingress frame number; full_number() adds the others. For a `logged`
  /// frame: its slot in the ledger, which stores the number.
  std::uint32_t number_or_slot = 0;
  StageSet::Bits acted = 0;  // as in the frame's decision

  [[nodiscard]] constexpr Instant in() const noexcept { return Instant{Duration{in_ns}}; }
  [[nodiscard]] constexpr std::size_t frames() const noexcept { return followers + 1U; }
  [[nodiscard]] constexpr RuleIndex rule_index() const noexcept {
    return static_cast<RuleIndex>(rule);
  }
  [[nodiscard]] constexpr std::uint32_t byte_count() const noexcept {
    return static_cast<std::uint32_t>(bytes);
  }
  constexpr void set_frames(std::size_t count) noexcept { followers = (count - 1) % kMostFrames; }
  constexpr void set_bytes(std::uint32_t count) noexcept { bytes = count & 0xffffffU; }
  /// Changes this to the Transit of the frame `count` frames later.
  constexpr void skip(std::size_t count) noexcept {
    number_or_slot += static_cast<std::uint32_t>(count);
  }
  /// Returns the ingress frame number of a frame that is not logged. `next`: a number that is equal
  /// or larger, by less than 2^32.
  [[nodiscard]] constexpr std::uint64_t full_number(std::uint64_t next) const noexcept {
    return next - (static_cast<std::uint32_t>(next) - number_or_slot);
  }
};
// DPDK's buffers have 36 B for it; a driver may use 8 of them for a time stamp.
static_assert(sizeof(Transit) == 24);
static_assert(sizeof(Transit::acted) * 8 >= kStages, "widen Transit::acted to hold kStages");
static_assert(kUntouched < 1U << Transit::kRuleBits, "widen Transit::rule to hold RuleIndex");

/// Cuts `train` after its first `count` frames. Returns the train of the remaining frames, which
/// have `bytes` bytes. Requires 0 < count < train.frames().
constexpr Transit cut(Transit& train, std::size_t count, std::uint32_t bytes) noexcept {
  Transit rest = train;
  rest.skip(count);
  rest.set_frames(train.frames() - count);
  rest.set_bytes(bytes);
  train.set_frames(count);
  train.set_bytes(train.byte_count() - bytes);
  return rest;
}

}  // namespace lw::emulator
