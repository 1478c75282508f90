// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/traffic/flow_cursor.h"
#include "gen/traffic/frame_encoder.h"

namespace lw::gen {

/// Properties of a frame that are counted when it is sent, and how it may be sent.
struct FrameInfo {
  static constexpr std::uint8_t kNoFault = 0xff;
  // Flags in `marks`:
  static constexpr std::uint16_t kEndsMessage = 0x100;
  static constexpr std::uint16_t kLacksSignature = 0x200;  // too short for the flow's signature
  static constexpr std::uint16_t kTogether = 0x400;  // due at the same time as its whole batch
  static constexpr std::uint16_t kSingle = 0x800;    // due alone, and of fixed length

  std::uint16_t size = 0, payload = 0;  // bytes, without FCS
  std::uint16_t marks = kNoFault;       // low byte: config::FaultKind or kNoFault

  [[nodiscard]] std::uint8_t fault() const noexcept {
    return static_cast<std::uint8_t>(marks & 0xff);
  }
  [[nodiscard]] bool has(std::uint16_t mark) const noexcept { return (marks & mark) != 0; }
  void set_fault(config::FaultKind kind) noexcept {
    marks = static_cast<std::uint16_t>((marks & ~0xff) | static_cast<int>(kind));
  }
  void set(std::uint16_t mark, bool on) noexcept {
    if (on) marks |= mark;
  }
};

/// Properties of a cursor's next frame.
inline FrameInfo frame_info(const FlowCursor& cursor) noexcept {
  const FrameTemplate& frame = cursor.frame();
  FrameInfo info{.size = static_cast<std::uint16_t>(frame.size(cursor.fields())),
                 .payload = static_cast<std::uint16_t>(frame.payload_length(cursor.fields()))};
  if (cursor.fault()) info.set_fault(*cursor.fault());
  info.set(FrameInfo::kEndsMessage, cursor.ends_message());
  info.set(FrameInfo::kLacksSignature, cursor.lacks_signature());
  return info;
}

/// Destination of a frame: the position of its payload in a buffer, and the buffer's cache tag.
struct FrameSlot {
  std::byte* payload;
  BufferTag* tag;
};

/// The hot part of a flow: all that its next frames need, in two cache lines, so that 10,000 flows
/// in turn cost little more than one. It holds a batch of the flow's FlowCursor; after the batch's
/// last frame, next_batch() loads the next one from the cursor.
class alignas(128) HotFlow {
 public:
  /// Starts at the cursor, which must have a next frame and outlive the flow.
  explicit HotFlow(FlowCursor& cursor) noexcept { load(cursor); }

  /// Due time of the next frame.
  [[nodiscard]] Duration due() const noexcept { return due_; }
  /// End of the last frame's slot.
  [[nodiscard]] Duration span() const noexcept { return Duration{whole_ns(end_)}; }
  /// Frames of the batch that are encoded and advanced past.
  [[nodiscard]] std::uint32_t encoded(const FlowCursor& cursor) const noexcept {
    return cursor.batch_frames() - left_;
  }
  /// Properties of the batch's frames.
  [[nodiscard]] const FrameInfo& info() const noexcept { return info_; }

  /// Returns the number of the batch's next frames that are due before `until`, from 1 to `most`.
  /// Requires that the next frame is due before `until`.
  [[nodiscard]] std::size_t due_before(Duration until, std::size_t most) const noexcept;
  /// Due time of frame `i` from the next one on.
  [[nodiscard]] Duration due_of(std::size_t i) const noexcept {
    return i == 0 || info_.has(FrameInfo::kTogether) ? due_ : Duration{whole_ns(end_ + i * step_)};
  }
  /// Frames of the batch that are due together with the next one.
  [[nodiscard]] std::size_t together() const noexcept {
    return info_.has(FrameInfo::kTogether) ? left_ : 1;
  }
  /// True if the next frame is the batch's last one.
  [[nodiscard]] bool batch_ends() const noexcept { return left_ == 1; }

  // Encoding and advancing are separate: encode() changes the encoder's state only.
  /// Layout of the next frames; null if their length varies.
  [[nodiscard]] const HeaderLayout* layout() const noexcept { return state_.layout(); }
  /// Encodes the next `frames` frames, frame i in `slot_of(i)`. Requires a layout().
  template <class SlotOf>
  void encode(std::size_t frames, SendStamp& stamp, SlotOf slot_of) noexcept {
    with_encoder(*state_.layout(), stamp, [&](const auto& layout_encoder) {
      const auto encoder = layout_encoder;  // local copies, so that the compiler keeps them in
      EncoderState state = state_;          // registers
      for (std::size_t i = 0; i < frames; ++i) {
        const FrameSlot slot = slot_of(i);
        encoder.encode(state, slot.payload, *slot.tag);
      }
      state_ = state;
    });
  }
  /// Encodes the next frame with an encoder for its layout.
  template <FieldSet kSet>
  [[gnu::always_inline]] void encode(const FrameEncoder<kSet>& encoder,
                                     const FrameSlot& slot) noexcept {
    encoder.encode(state_, slot.payload, *slot.tag);
  }
  /// Encodes the next frame, of any length. Returns the frame's start.
  std::byte* encode(const FlowCursor& cursor, SendStamp& stamp, const FrameSlot& slot) noexcept;

  /// Moves past `frames` encoded frames, at most due_before(). Returns false at the batch's end:
  /// call next_batch() then.
  bool advance(std::size_t frames) noexcept {
    end_ += frames * step_;
    if (!info_.has(FrameInfo::kTogether)) due_ = span();
    left_ = static_cast<std::uint16_t>(left_ - frames);
    return left_ > 0;
  }
  /// Like advance(1), for a frame that is kSingle.
  bool advance_single() noexcept {
    end_ += step_;
    due_ = span();
    return --left_ > 0;
  }
  /// Gives the numbers of the flow's last frames, which were encoded and not sent, to the next
  /// frames.
  void take_back(FlowCursor& cursor, const FlowCursor::Numbers& numbers) noexcept {
    cursor.take_back(numbers);
    state_.take_back(numbers.sequence, numbers.psns);
  }
  /// Loads the next batch. Returns false after the flow's last frame.
  bool next_batch(FlowCursor& cursor) noexcept;

 private:
  static constexpr std::uint16_t kLongestBatch = 0xffff;
  void load(FlowCursor& cursor) noexcept;

  FineTime end_ = 0, step_ = 0;
  Duration due_{0};
  FrameInfo info_;
  std::uint16_t left_ = 0;  // frames of the batch
  EncoderState state_;
};

static_assert(sizeof(HotFlow) == 128);

}  // namespace lw::gen
