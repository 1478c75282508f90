// SPDX-License-Identifier: BSD-3-Clause
#include "gen/pace/flow_source.h"

namespace lw::gen {

void FlowSource::load(FlowWalk& walk) noexcept {
  const FlowStream& stream = walk.stream;
  const auto even = stream.even_frames(kLongestRun);
  const auto pace = walk.pacer.even_pace(stream.work(), even.frames);
  walk.run = pace.frames;
  left_ = static_cast<std::uint16_t>(pace.frames);
  end_ = pace.end;
  step_ = pace.step;
  due_ = pace.due;
  facts_ = facts_of(stream);
  facts_.together = pace.together;
  run_ = stream.frame().is_elastic() ? FrameRun{}
                                     : FrameRun(stream.frame(), stream.moving(), even.step);
  facts_.single = !pace.together && run_.shape() != nullptr;
}

bool FlowSource::refill(FlowWalk& walk) noexcept {
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
