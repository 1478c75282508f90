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
#include "capture/writer.h"
#include "core/counter.h"
#include "core/huge_pages.h"
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

/// Frames of one interface of a recording: written; skipped because the writer could not keep up;
/// lost because a write failed.
struct RecordedInterface {
  std::string_view name;
  std::uint64_t frames = 0, skipped = 0, lost = 0;
  static const FigureTable& figures();
};

/// State of a recording, which is open or closed.
struct CaptureReport {
  std::string file;
  std::uint64_t frames = 0, skipped = 0, lost = 0;  // of all interfaces
  std::uint64_t left_out = 0;            // sent frames that were received before it began
  std::uint64_t files = 1, removed = 0;  // with a rotation: files, and frames in removed ones
  std::vector<RecordedInterface> interfaces = {};
  bool active = false;  // the recording is open
  [[nodiscard]] std::uint64_t missing() const noexcept { return skipped + lost; }
  static const FigureTable& figures();
};

/// Rings with one direction's frames for a recording: the data path copies frames in, and another
/// thread takes them out. If a ring has no room, a frame is skipped and counted; the data path
/// never waits. Records and bytes have a ring each: records side by side are prefetched by the
/// processor, and to wait for a record in another core's cache was a third of the writing thread's
/// time.
///
/// A frame's bytes are copied before its result is known: call stage() for each frame, then say()
/// with the result of each, then publish() for the first frames to which the result applies.
class Recorder {
 public:
  static constexpr std::size_t kMostStaged = 64;
  static constexpr std::size_t kBytesForARecord = 256;

  /// Frames are cut to `most_bytes`; 0: not cut. `room`: for bytes of frames, rounded up to a power
  /// of two; there is a record for each kBytesForARecord of it.
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

  /// A frame in the ring; its bytes may lie at the ring's end and at its start.
  struct Sight {
    const CaptureRecord& record;
    capture::Writer::Parts bytes;
  };
  /// Other thread: returns the time of the next frame; nothing if there is none.
  [[nodiscard]] std::optional<Instant> front() noexcept;
  /// Other thread: passes to the next frame, which stays until give_back(). Requires that front()
  /// returned a time.
  Sight next() noexcept;
  /// Other thread: makes room of all frames that next() has returned.
  void give_back() noexcept {
    taken_bytes_.store(read_bytes_, std::memory_order_release);
    taken_.store(read_, std::memory_order_release);
  }

 private:
  struct Staged {
    std::size_t index = 0, at = 0;  // of its record and of its bytes
    std::uint32_t length = 0, wire_length = 0;
    bool room = false;
  };
  [[nodiscard]] bool has_room(std::size_t length) noexcept;
  /// Where `count` bytes of the ring are; the second part is empty unless they go over its end.
  [[nodiscard]] std::array<std::span<std::byte>, 2> places(std::size_t at,
                                                           std::size_t count) const noexcept;
  [[nodiscard]] CaptureRecord& record(std::size_t index) const noexcept {
    return records_[index & (records_.size() - 1)];
  }

  emulator::Direction direction_;
  std::uint32_t most_bytes_;
  HugeArray<CaptureRecord> records_;
  HugeArray<std::byte> bytes_;
  std::array<Staged, kMostStaged> staged_;
  std::size_t staged_count_ = 0;
  // Positions are never reset; they are masked on use. Each thread has cache lines of its own.
  std::size_t end_ = 0, end_bytes_ = 0;                // end of the staged frames
  std::size_t taken_seen_ = 0, taken_bytes_seen_ = 0;  // last values that the data path has loaded
  std::array<Counter, 2> skipped_;
  alignas(64) std::atomic<std::size_t> written_{0};
  alignas(64) std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> taken_bytes_{0};
  std::size_t read_ = 0, read_bytes_ = 0;  // end of what next() has returned
  std::size_t written_seen_ = 0;           // last value that the other thread has loaded
};

}  // namespace lw::impair
