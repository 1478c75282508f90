// SPDX-License-Identifier: BSD-3-Clause
#include "gen/pace/flow_source.h"

namespace lw::gen {

void FlowSource::load(FlowWalk& walk) noexcept {
  const FlowStream& stream = walk.stream;
  const auto even = stream.even_frames(kLongestRun);
  const auto pace = walk.pacer.even_pace(stream.work(), even.frames);
  walk.run = pace.frames;
  left_ = pace.frames & kLongestRun;
  end_ = pace.end;
  step_ = pace.step;
  due_ = pace.due;
  together_ = pace.together;
  facts_ = facts_of(stream);
  run_ = stream.frame().is_elastic() ? FrameRun{}
                                     : FrameRun(stream.frame(), stream.moving(), even.step);
}

bool FlowSource::refill(FlowWalk& walk) noexcept {
  const bool more = walk.skip(walk.run);
  if (more) {
    load(walk);
  } else {
    end_ = fine(walk.pacer.span());
  }
  return more;
}

}  // namespace lw::gen
