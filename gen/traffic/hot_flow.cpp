// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/hot_flow.h"

#include <algorithm>

namespace lw::gen {

void HotFlow::load(FlowWalk& walk) noexcept {
  const FlowCursor& stream = walk.stream;
  const auto even = stream.even_frames(kLongestRun);
  const auto pace = walk.pacer.even_pace(stream.work(), even.frames);
  walk.run = pace.frames;
  left_ = static_cast<std::uint16_t>(pace.frames);
  end_ = pace.end;
  step_ = pace.step;
  due_ = pace.due;
  facts_ = frame_info(stream);
  facts_.set(FrameInfo::kTogether, pace.together);
  run_ = stream.frame().is_elastic() ? EncoderState{}
                                     : EncoderState(stream.frame(), stream.fields(), even.step);
  facts_.set(FrameInfo::kSingle, !pace.together && run_.shape() != nullptr);
}

std::size_t HotFlow::due_before(Duration until, std::size_t most) const noexcept {
  const std::size_t frames = std::min<std::size_t>(most, left_);
  if (due_of(frames - 1) < until) return frames;
  std::size_t due = 1;
  while (due < frames && due_of(due) < until) ++due;
  return due;
}

std::byte* HotFlow::make(FlowWalk& walk, SendStamp& stamp, const Place& place) noexcept {
  if (shape() == nullptr) {
    return walk.stream.frame().make(walk.stream.fields(), stamp, place.payload, *place.held);
  }
  make(1, stamp, [&](std::size_t) { return place; });
  return place.payload - shape()->headers;
}

bool HotFlow::refill(FlowWalk& walk) noexcept {
  const bool more = walk.skip(walk.run);
  if (more) {
    load(walk);
  } else {
    walk.run = 0;
    end_ = fine(walk.pacer.span());
  }
  return more;
}

}  // namespace lw::gen
