// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/record.h"
#include "core/counter.h"
#include "emulator/ledger.h"
#include "emulator/transit.h"
#include "impair/record/binary_ledger.h"

namespace lw {
struct FigureTable;
}

namespace lw::impair {

/// A frame in a recording, received or sent, without its bytes. Trivially copyable.
struct CaptureRecord {
  Instant at;
  std::uint32_t length = 0, wire_length = 0;  // bytes kept, and bytes of the frame
  bool out = false;
  emulator::LedgerRecord ledger;  // what the rules did to the frame
};

/// Interface names of a recording: two per direction.
inline constexpr auto& kInterfaceNames = capture::kRecordingInterfaces;
inline constexpr std::size_t kRecordedInterfaces = std::size(kInterfaceNames);
constexpr std::uint32_t interface_of(emulator::Direction direction, bool out) noexcept {
  return 2 * static_cast<std::uint32_t>(direction) + (out ? 1 : 0);
}

/// State of a recording, which is open or closed.
struct CaptureReport {
  std::string file;
  /// Frames written; skipped because the writer could not keep up; lost because a write failed.
  std::uint64_t frames = 0, skipped = 0, lost = 0;
  std::uint64_t left_out = 0;  // sent frames that were received before it began
  bool active = false;         // the recording is open
  [[nodiscard]] std::uint64_t missing() const noexcept { return skipped + lost; }
  static const FigureTable& figures();
};

/// Returns the ledger record of a frame that leaves. `number`: its ingress frame number.
emulator::LedgerRecord record_of(const emulator::Transit& transit, std::uint64_t number,
                                 emulator::Direction direction) noexcept;

/// Returns a packet's comment: "drop; frame 171; rule long haul; stage loss".
std::string comment_of(const emulator::LedgerRecord& record, const RuleNames& rules);

/// Ring with one direction's frames for a recording: the data path copies frames in, and another
/// thread takes them out. If the ring has no room, a frame is skipped and counted; the data path
/// never waits.
///
/// A frame's bytes are copied before its result is known: call stage() for each frame, then say()
/// with the result of each, then publish() for the first frames to which the result applies.
class Recorder {
 public:
  static constexpr std::size_t kMostStaged = 64;

  /// Frames are cut to `most_bytes`; 0: not cut. `room`: size of the ring in bytes, rounded up to a
  /// power of two.
  Recorder(emulator::Direction direction, std::uint32_t most_bytes,
           std::size_t room = std::size_t{64} << 20);

  /// Data path: copies a frame into the ring. At most kMostStaged frames before publish().
  void stage(std::span<const std::byte> bytes, std::uint32_t wire_length) noexcept;
  /// Data path: stores time, side and ledger record of the staged frame `i`.
  void say(std::size_t i, Instant at, bool out, const emulator::LedgerRecord& record) noexcept;
  /// Data path: passes the first `count` staged frames to the other thread, and discards the
  /// others.
  void publish(std::size_t count, bool out) noexcept;

  [[nodiscard]] emulator::Direction direction() const noexcept { return direction_; }
  /// Frames skipped on the input side, or on the output side if `out`. Any thread.
  [[nodiscard]] std::uint64_t skipped(bool out) const noexcept { return skipped_[out].get(); }

  /// Other thread: returns the time of the next frame; nothing if there is none.
  [[nodiscard]] std::optional<Instant> front() const noexcept;
  /// Other thread: removes the next frame and stores its bytes in `bytes`. Requires that front()
  /// returned a time.
  CaptureRecord take(std::vector<std::byte>& bytes);

 private:
  struct Staged {
    std::size_t at = 0;
    std::uint32_t length = 0, wire_length = 0;
    bool room = false;
  };
  void copy_in(std::size_t at, const void* from, std::size_t count) noexcept;
  void copy_out(std::size_t at, void* to, std::size_t count) const noexcept;

  emulator::Direction direction_;
  std::uint32_t most_bytes_;
  std::vector<std::byte> ring_;
  std::array<Staged, kMostStaged> staged_;
  std::size_t staged_count_ = 0;
  std::size_t end_ = 0;                             // end of the staged frames
  std::atomic<std::size_t> written_{0}, taken_{0};  // never reset; masked on use
  std::array<Counter, 2> skipped_;
};

}  // namespace lw::impair
