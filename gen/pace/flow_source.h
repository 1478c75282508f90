// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/frames/flow_stream.h"
#include "gen/frames/frame_run.h"
#include "gen/pace/pacer.h"

namespace lw::gen {

/// What is counted of a frame once it has left, and how it leaves.
struct FrameFacts {
  static constexpr std::uint8_t kSound = 0xff;

  std::uint16_t size = 0, payload = 0;  // bytes, FCS not counted
  std::uint8_t fault = kSound;          // profile::FaultKind
  bool ends_message : 1 = false;
  bool lacks_signature : 1 = false;  // that its flow asked for
  bool together : 1 = false;         // with the next one, if that is counted alike
  bool single : 1 = false;           // it comes by itself, and isn't elastic
};

/// Of a stream's next frame.
inline FrameFacts facts_of(const FlowStream& stream) noexcept {
  const FrameTemplate& frame = stream.frame();
  FrameFacts facts{.size = static_cast<std::uint16_t>(frame.size(stream.moving())),
                   .payload = static_cast<std::uint16_t>(frame.payload_length(stream.moving()))};
  if (stream.fault()) facts.fault = static_cast<std::uint8_t>(*stream.fault());
  facts.ends_message = stream.ends_message();
  facts.lacks_signature = stream.lacks_signature();
  return facts;
}

/// A flow as its messages and its rate say: walked frame by frame, or run by run.
struct FlowWalk {
  Pacer pacer;
  FlowStream stream;
  std::uint32_t run = 1;  // frames of the FlowSource's run that began where it stands

  /// Behind a frame that was taken; false when the flow is through.
  bool advance() noexcept { return skip(1); }
  /// The same behind several frames of a FlowSource's run.
  bool skip(std::uint32_t frames) noexcept {
    pacer.skip(stream.work(), frames);
    stream.skip(frames);
    return stream.has_next() && !pacer.ended();
  }
};

/// A flow's next frames and when they are due, as long as that goes on evenly: two cache lines, so
/// that ten thousand flows in turn cost little more than one. At a run's end refill() asks the walk
/// how it goes on.
class alignas(128) FlowSource {
 public:
  /// Begins where the walk stands, which isn't through and outlives the source.
  explicit FlowSource(FlowWalk& walk) noexcept { load(walk); }

  /// When the next frame may go.
  [[nodiscard]] Duration due() const noexcept { return due_; }
  /// Where the last frame's slot ends.
  [[nodiscard]] Duration span() const noexcept { return Duration{whole_ns(end_)}; }
  /// Of the run so far, how many frames were made.
  [[nodiscard]] std::uint32_t made(const FlowWalk& walk) const noexcept { return walk.run - left_; }
  /// Of the next frame, and of all of the run.
  [[nodiscard]] const FrameFacts& facts() const noexcept { return facts_; }

  /// FrameRun::make() of the next frame, be it regular or not.
  std::byte* make(FlowWalk& walk, SendStamp& stamp, std::byte* payload, Imprint& held) noexcept {
    if (run_.shape() == nullptr) [[unlikely]]
      return walk.stream.frame().make(walk.stream.moving(), stamp, payload, held);
    return run_.make(stamp, payload, held);
  }
  /// The next frame comes by itself, and make_single() makes it.
  [[nodiscard]] bool is_single() const noexcept { return facts_.single; }
  /// Of a single one: bytes before the payload.
  [[nodiscard]] std::size_t headers() const noexcept { return run_.shape()->headers; }
  std::byte* make_single(SendStamp& stamp, std::byte* payload, Imprint& held) noexcept {
    return run_.make(stamp, payload, held);
  }
  /// Behind a frame that was made; false at the run's end: refill() then.
  bool advance() noexcept {
    end_ += step_;
    if (!facts_.together) due_ = span();
    return --left_ > 0;
  }
  /// The frames from the next on that leave together with it, as far as the run goes.
  [[nodiscard]] std::size_t together() const noexcept { return facts_.together ? left_ : 1; }
  /// The next frame is the run's last one.
  [[nodiscard]] bool runs_out() const noexcept { return left_ == 1; }
  /// Behind the run's last frame; false when the flow is through.
  bool refill(FlowWalk& walk) noexcept;

 private:
  static constexpr std::uint16_t kLongestRun = 0xffff;
  void load(FlowWalk& walk) noexcept;

  FineTime end_ = 0, step_ = 0;
  Duration due_{0};
  FrameFacts facts_;
  std::uint16_t left_ = 0;  // frames of the run
  FrameRun run_;
};

static_assert(sizeof(FlowSource) == 128);

}  // namespace lw::gen
