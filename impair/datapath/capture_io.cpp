// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/capture_io.h"

#include <utility>

#include "impair/datapath/forwarder_impl.h"

namespace lw::impair {

StoredFrame* FrameStore::allocate() {
  if (free_.empty()) return &frames_.emplace_back();
  StoredFrame* frame = free_.back();
  free_.pop_back();
  return frame;
}

StoredFrame* FrameStore::copy(const capture::Record& record, roce::LinkType link) {
  StoredFrame* frame = allocate();
  frame->bytes.assign(record.bytes.begin(), record.bytes.end());
  frame->wire_length = record.wire_length;
  frame->interface = record.interface;
  frame->link = link;
  return frame;
}

StoredFrame* FrameStore::copy(const StoredFrame& frame) {
  StoredFrame* twin = allocate();
  *twin = frame;
  return twin;
}

std::span<StoredFrame*> CaptureIo::receive(std::size_t /*most*/) noexcept {
  frame_ = std::exchange(state_->arriving[static_cast<std::size_t>(direction_)], nullptr);
  return std::span(&frame_, frame_ ? 1 : 0);
}

/// After a write error, frames are freed without being written.
std::size_t CaptureIo::send(std::span<StoredFrame*> frames) noexcept {
  for (StoredFrame* frame : frames) {
    if (!state_->failure)
      if (auto written =
              state_->writer.write(state_->now, frame->bytes, frame->wire_length, frame->interface);
          !written)
        state_->failure = written.error();
    state_->frames.free(frame);
  }
  return frames.size();
}

std::optional<StoredFrame*> CaptureIo::make_frame(std::span<const std::byte> bytes) {
  const auto length = static_cast<std::uint32_t>(bytes.size());
  return state_->frames.copy({.bytes = bytes,
                              .wire_length = length,
                              .stamp = {},
                              .interface = static_cast<std::uint32_t>(direction_)},
                             roce::LinkType::ethernet);
}

template class Forwarder<CaptureIo>;

}  // namespace lw::impair
