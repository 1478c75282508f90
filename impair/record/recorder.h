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

namespace lw::impair {

/// A frame that came in or went out, without its bytes. Trivially copyable.
struct CaptureRecord {
  Instant at;
  std::uint32_t length = 0, wire_length = 0;  // of the bytes kept, and of the frame
  bool out = false;
  emulator::LedgerRecord ledger;  // what was done to it
};

/// The interfaces of a recording: two a direction.
inline constexpr auto& kInterfaceNames = capture::kRecordingInterfaces;
inline constexpr std::size_t kRecordedInterfaces = std::size(kInterfaceNames);
constexpr std::uint32_t interface_of(emulator::Direction direction, bool out) noexcept {
  return 2 * static_cast<std::uint32_t>(direction) + (out ? 1 : 0);
}

/// A recording that is or was written.
struct CaptureReport {
  std::string file;
  /// Written, skipped because the writer could not keep up, and lost because the file could not be
  /// written.
  std::uint64_t frames = 0, skipped = 0, lost = 0;
  bool active = false;  // frames still go into it
  [[nodiscard]] std::uint64_t missing() const noexcept { return skipped + lost; }
};

/// Ledger record of a frame that leaves. `number`: its ingress frame number.
emulator::LedgerRecord record_of(const emulator::Transit& transit, std::uint64_t number,
                                 emulator::Direction direction) noexcept;

/// A packet's comment: "drop; frame 171; rule long haul; stage loss".
std::string comment_of(const emulator::LedgerRecord& record, const RuleNames& rules);

/// One direction's frames on their way to a recording: the data path copies them into a ring, and
/// another thread takes them out. Where there is no room a frame is skipped and counted; the data
/// path never waits.
///
/// A frame's bytes are copied before it is known what becomes of it: stage() some, say() of each
/// what it was, publish() as many as it was true for.
class Recorder {
 public:
  static constexpr std::size_t kMostStaged = 64;

  /// Frames longer than `most_bytes` are cut; 0: none. `room`: bytes, a power of two.
  Recorder(emulator::Direction direction, std::uint32_t most_bytes,
           std::size_t room = std::size_t{64} << 20);

  /// Data path. At most kMostStaged.
  void stage(std::span<const std::byte> bytes, std::uint32_t wire_length) noexcept;
  void say(std::size_t i, Instant at, bool out, const emulator::LedgerRecord& record) noexcept;
  void publish(std::size_t count, bool out) noexcept;

  [[nodiscard]] emulator::Direction direction() const noexcept { return direction_; }
  /// Any thread.
  [[nodiscard]] std::uint64_t skipped(bool out) const noexcept { return skipped_[out].get(); }

  /// The other thread: when the next frame was seen; nothing where none waits.
  [[nodiscard]] std::optional<Instant> front() const noexcept;
  /// Only where front() said so: the frame, whose bytes are put into `bytes`.
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
  std::size_t end_ = 0;                             // behind what is staged
  std::atomic<std::size_t> written_{0}, taken_{0};  // run freely; masked on use
  std::array<Counter, 2> skipped_;
};

}  // namespace lw::impair
