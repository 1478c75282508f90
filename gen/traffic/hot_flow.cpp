// SPDX-License-Identifier: BSD-3-Clause
#include "gen/traffic/hot_flow.h"

#include <algorithm>

namespace lw::gen {

void HotFlow::load(FlowCursor& cursor) noexcept {
  FieldSteps steps;
  const Pacer::EvenPace pace = cursor.begin_batch(kLongestBatch, steps);
  left_ = static_cast<std::uint16_t>(pace.frames);
  end_ = pace.end;
  step_ = pace.step;
  due_ = pace.due;
  info_ = frame_info(cursor);
  info_.set(FrameInfo::kTogether, pace.together);
  state_ = cursor.frame().has_variable_length()
               ? EncoderState{}
               : EncoderState(cursor.frame(), cursor.fields(), steps);
  info_.set(FrameInfo::kSingle, !pace.together && state_.layout() != nullptr);
}

std::size_t HotFlow::due_before(Duration until, std::size_t most) const noexcept {
  const std::size_t frames = std::min<std::size_t>(most, left_);
  if (due_of(frames - 1) < until) return frames;
  std::size_t due = 1;
  while (due < frames && due_of(due) < until) ++due;
  return due;
}

std::byte* HotFlow::encode(const FlowCursor& cursor, SendStamp& stamp,
                           const FrameSlot& slot) noexcept {
  if (layout() == nullptr) {
    return cursor.frame().encode(cursor.fields(), stamp, slot.payload, *slot.tag);
  }
  encode(1, stamp, [&](std::size_t) { return slot; });
  return slot.payload - layout()->headers;
}

bool HotFlow::next_batch(FlowCursor& cursor) noexcept {
  const bool more = cursor.end_batch();
  if (more) {
    load(cursor);
  } else {
    end_ = fine(cursor.pacer().span());
  }
  return more;
}

}  // namespace lw::gen
