// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "capture/writer.h"
#include "impair/datapath/forwarder.h"
#include "impair/record/recording.h"

namespace lw::impair {

/// A captured frame inside a link, or a copy that the link made of it.
struct StoredFrame {
  std::vector<std::byte> bytes;
  std::uint32_t wire_length = 0, interface = 0;
  roce::LinkType link = roce::LinkType::ethernet;
};

/// Owns captured frames: a reader's record is valid only until the next one is read. Memory grows
/// to the largest number of frames that were in use at once.
class FrameStore {
 public:
  /// Returns a copy. The store owns it; the caller gives it back with free().
  StoredFrame* copy(const capture::Record& record, roce::LinkType link);
  StoredFrame* copy(const StoredFrame& frame);
  void free(StoredFrame* frame) { free_.push_back(frame); }

 private:
  StoredFrame* allocate();
  std::deque<StoredFrame> frames_;  // addresses stay valid when it grows
  std::vector<StoredFrame*> free_;
};

/// A link's access to stored frames; see emulator::FrameAccess.
class StoreAccess {
 public:
  explicit StoreAccess(FrameStore& store) noexcept : store_(&store) {}
  wire::MutableBytes writable(StoredFrame* frame) noexcept { return frame->bytes; }
  std::optional<StoredFrame*> clone(StoredFrame* frame) { return store_->copy(*frame); }
  void free(StoredFrame* frame) { store_->free(frame); }
  static void fetch(StoredFrame* /*frame*/) noexcept {}
  static void fetch_all(StoredFrame* /*frame*/) noexcept {}

 private:
  FrameStore* store_;
};

/// State that both directions of a replay share.
struct ReplayState {
  explicit ReplayState(capture::Writer output) : writer(std::move(output)) {}

  FrameStore frames;
  capture::Writer writer;
  std::optional<Error> failure;            // error of the first failed write
  Instant now{};                           // virtual time
  std::array<StoredFrame*, 2> arriving{};  // by direction: frame for the next receive()
};

/// Input and output of one direction of a replay, in virtual time: frames are written with the
/// instant at which they leave.
class CaptureIo {
 public:
  using Handle = StoredFrame*;
  using Frames = StoreAccess;
  using Recorder = FileRecorder;

  static constexpr std::size_t kBurst = 1, kSendBurst = FileRecorder::kMostStaged;
  static constexpr bool kBatches = false, kPolls = false;

  /// `state` must outlive the object.
  CaptureIo(emulator::Direction direction, ReplayState& state) noexcept
      : direction_(direction), state_(&state) {}

  [[nodiscard]] emulator::Direction direction() const noexcept { return direction_; }
  [[nodiscard]] Frames frames() const noexcept { return StoreAccess(state_->frames); }
  [[nodiscard]] Instant now() const noexcept { return state_->now; }
  /// A frame whose link has no room is dropped: it does not wait.
  [[nodiscard]] static bool finite() noexcept { return false; }
  [[nodiscard]] static bool exhausted() noexcept { return false; }

  /// Frames arrive at their own times, which are now().
  [[nodiscard]] static constexpr bool stamped() noexcept { return false; }
  [[nodiscard]] static constexpr bool hands_over_singly() noexcept { return false; }
  [[nodiscard]] static std::span<const Instant> arrivals() noexcept { return {}; }
  [[nodiscard]] static std::span<const Instant> departures() noexcept { return {}; }
  [[nodiscard]] static Instant horizon() noexcept { return {}; }
  [[nodiscard]] static std::optional<Duration> stamp_uncertainty() noexcept { return {}; }
  [[nodiscard]] static std::uint64_t stepped() noexcept { return 0; }

  /// Returns the frame that arrives now, if there is one.
  std::span<Handle> receive(std::size_t most) noexcept;
  /// Writes the frames with the time now(), and frees them. Returns their number.
  std::size_t send(std::span<Handle> frames) noexcept;

  static std::size_t make_own(std::span<Handle> frames, bool /*edits*/) noexcept {
    return frames.size();
  }
  static bool is_held_by_others(Handle /*frame*/) noexcept { return false; }
  /// Returns a new Ethernet frame. It is for the output interface with the number of this
  /// direction.
  std::optional<Handle> make_frame(std::span<const std::byte> bytes);
  void free(std::span<Handle> frames) {
    for (const Handle frame : frames) state_->frames.free(frame);
  }
  /// Source address of pause frames, locally administered: 02:00:00:00:00:01 if the output is west,
  /// 02:00:00:00:00:02 if it is east.
  [[nodiscard]] wire::MacAddress source_address() const noexcept {
    const bool east = direction_ == emulator::Direction::west_to_east;
    return {std::byte{0x02}, {}, {}, {}, {}, std::byte{east ? std::uint8_t{2} : std::uint8_t{1}}};
  }

  static std::span<const std::byte> bytes(Handle frame) noexcept { return frame->bytes; }
  static std::uint32_t wire_length(Handle frame) noexcept { return frame->wire_length; }
  static roce::Envelope envelope(Handle frame) noexcept {
    return roce::open_envelope(frame->bytes, frame->wire_length, frame->link);
  }

 private:
  emulator::Direction direction_;
  ReplayState* state_;
  Handle frame_ = nullptr;
};

using CaptureForwarder = Forwarder<CaptureIo>;
extern template class Forwarder<CaptureIo>;

}  // namespace lw::impair
