// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/traffic/flow_cursor.h"
#include "gen/traffic/frame_encoder.h"
#include "gen/traffic/pacer.h"

namespace lw::gen {

/// What is counted of a frame once it has left, and how it leaves.
struct FrameInfo {
  static constexpr std::uint8_t kSound = 0xff;
  enum Mark : std::uint16_t {
    kEndsMessage = 0x100,
    kLacksSignature = 0x200,  // that its flow asked for
    kTogether = 0x400,        // with the next one, if that is counted alike
    kSingle = 0x800,          // it comes by itself, and isn't elastic
  };

  std::uint16_t size = 0, payload = 0;  // bytes, FCS not counted
  std::uint16_t marks = kSound;         // config::FaultKind or kSound, and Marks above

  [[nodiscard]] std::uint8_t fault() const noexcept {
    return static_cast<std::uint8_t>(marks & 0xff);
  }
  [[nodiscard]] bool has(Mark mark) const noexcept { return (marks & mark) != 0; }
  void set_fault(config::FaultKind kind) noexcept {
    marks = static_cast<std::uint16_t>((marks & ~0xff) | static_cast<int>(kind));
  }
  void set(Mark mark, bool on) noexcept {
    if (on) marks |= mark;
  }
};

/// Of a stream's next frame.
inline FrameInfo frame_info(const FlowCursor& stream) noexcept {
  const FrameTemplate& frame = stream.frame();
  FrameInfo facts{.size = static_cast<std::uint16_t>(frame.size(stream.fields())),
                  .payload = static_cast<std::uint16_t>(frame.payload_length(stream.fields()))};
  if (stream.fault()) facts.set_fault(*stream.fault());
  facts.set(FrameInfo::kEndsMessage, stream.ends_message());
  facts.set(FrameInfo::kLacksSignature, stream.lacks_signature());
  return facts;
}

/// A flow as its messages and its rate say: walked frame by frame, or run by run.
struct FlowWalk {
  Pacer pacer;
  FlowCursor stream;
  std::uint32_t run = 1;  // frames of the HotFlow's run that began where it stands

  /// Behind a frame that was taken; false when the flow is through.
  bool advance() noexcept { return skip(1); }
  /// The same behind several frames of a HotFlow's run.
  bool skip(std::uint32_t frames) noexcept {
    pacer.skip(stream.work(), frames);
    stream.skip(frames);
    return stream.has_next() && !pacer.ended();
  }
};

/// A flow's next frames and when they are due, as long as that goes on evenly: two cache lines, so
/// that ten thousand flows in turn cost little more than one. At a run's end refill() asks the walk
/// how it goes on.
class alignas(128) HotFlow {
 public:
  /// Begins where the walk stands, which isn't through and outlives the source.
  explicit HotFlow(FlowWalk& walk) noexcept { load(walk); }

  /// When the next frame may go.
  [[nodiscard]] Duration due() const noexcept { return due_; }
  /// Where the last frame's slot ends.
  [[nodiscard]] Duration span() const noexcept { return Duration{whole_ns(end_)}; }
  /// Of the run so far, how many frames were made.
  [[nodiscard]] std::uint32_t made(const FlowWalk& walk) const noexcept { return walk.run - left_; }
  /// Of the next frame, and of all of the run.
  [[nodiscard]] const FrameInfo& facts() const noexcept { return facts_; }

  /// How many frames from the next one on, which is, are due before `until`; as far as the run
  /// goes, at least 1 and at most `most`.
  [[nodiscard]] std::size_t due_before(Duration until, std::size_t most) const noexcept;
  /// When the i-th of these is due.
  [[nodiscard]] Duration due_of(std::size_t i) const noexcept {
    return i == 0 || facts_.has(FrameInfo::kTogether) ? due_ : Duration{whole_ns(end_ + i * step_)};
  }
  /// The frames from the next on that leave together with it, as far as the run goes.
  [[nodiscard]] std::size_t together() const noexcept {
    return facts_.has(FrameInfo::kTogether) ? left_ : 1;
  }
  /// The next frame is the run's last one.
  [[nodiscard]] bool runs_out() const noexcept { return left_ == 1; }

  // Making frames, and going on behind them, are two things: what is made moves on by itself.
  /// What makes the next frames; null of an elastic one.
  [[nodiscard]] const HeaderLayout* shape() const noexcept { return run_.shape(); }
  /// Makes the next frames, which have a shape: `place(i)` says where the i-th one's payload is to
  /// be, and what is there.
  struct Place {
    std::byte* payload;
    BufferTag* held;
  };
  template <class PlaceOf>
  void make(std::size_t frames, SendStamp& stamp, PlaceOf place) noexcept {
    with_encoder(*run_.shape(), stamp, [&](const auto& shape_maker) {
      const auto maker = shape_maker;  // both are this function's own: in registers, if it can
      EncoderState run = run_;
      for (std::size_t i = 0; i < frames; ++i) {
        const Place at = place(i);
        maker.make(run, at.payload, *at.held);
      }
      run_ = run;
    });
  }
  /// Makes the next frame by a maker for its shape.
  template <FieldSet kSet>
  [[gnu::always_inline]] void make(const FrameEncoder<kSet>& maker, const Place& place) noexcept {
    maker.make(run_, place.payload, *place.held);
  }
  /// Makes the next frame, be it regular or not; returns where it starts.
  std::byte* make(FlowWalk& walk, SendStamp& stamp, const Place& place) noexcept;

  /// Behind so many frames that were made, at most due_before(); false at the run's end: refill()
  /// then.
  bool advance(std::size_t frames) noexcept {
    end_ += frames * step_;
    if (!facts_.has(FrameInfo::kTogether)) due_ = span();
    left_ = static_cast<std::uint16_t>(left_ - frames);
    return left_ > 0;
  }
  /// The same behind one that comes by itself.
  bool advance_single() noexcept {
    end_ += step_;
    due_ = span();
    return --left_ > 0;
  }
  /// Behind the run's last frame; false when the flow is through.
  bool refill(FlowWalk& walk) noexcept;

 private:
  static constexpr std::uint16_t kLongestRun = 0xffff;
  void load(FlowWalk& walk) noexcept;

  FineTime end_ = 0, step_ = 0;
  Duration due_{0};
  FrameInfo facts_;
  std::uint16_t left_ = 0;  // frames of the run
  EncoderState run_;
};

static_assert(sizeof(HotFlow) == 128);

}  // namespace lw::gen
