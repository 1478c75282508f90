// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "capture/record.h"
#include "roce/envelope.h"

namespace lw::impair {

/// Captured frames that are inside a link: copies, because a reader's record lives only until the
/// next one. Memory grows to the most that were ever inside at once.
class FrameStore {
 public:
  using Handle = std::uint32_t;
  struct Stored {
    std::vector<std::byte> bytes;
    std::uint32_t wire_length = 0, interface = 0;
    roce::LinkType link = roce::LinkType::ethernet;

    [[nodiscard]] roce::Envelope envelope() const noexcept {
      return roce::open_envelope(bytes, wire_length, link);
    }
  };

  Handle put(const capture::Record& record, roce::LinkType link) {
    const Handle handle = take();
    Stored& frame = frames_[handle];
    frame.bytes.assign(record.bytes.begin(), record.bytes.end());
    frame.wire_length = record.wire_length;
    frame.interface = record.interface;
    frame.link = link;
    return handle;
  }
  /// An Ethernet frame that was never captured.
  Handle put(std::span<const std::byte> bytes, std::uint32_t interface) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    return put({.bytes = bytes, .wire_length = length, .stamp = {}, .interface = interface},
               roce::LinkType::ethernet);
  }
  /// A frame of its own with the same bytes.
  Handle copy(Handle handle) {
    const Handle twin = take();
    frames_[twin] = frames_[handle];
    return twin;
  }
  void free(Handle handle) { free_.push_back(handle); }
  std::span<std::byte> writable(Handle handle) { return frames_[handle].bytes; }
  const Stored& operator[](Handle handle) const { return frames_[handle]; }

 private:
  Handle take() {
    if (free_.empty()) {
      frames_.emplace_back();
      return static_cast<Handle>(frames_.size() - 1);
    }
    const Handle handle = free_.back();
    free_.pop_back();
    return handle;
  }

  std::deque<Stored> frames_;  // frames stay where they are when more come
  std::vector<Handle> free_;
};

/// A link's way to stored frames.
class StoreAccess {
 public:
  explicit StoreAccess(FrameStore& store) noexcept : store_(&store) {}
  wire::MutableBytes writable(FrameStore::Handle handle) noexcept {
    return store_->writable(handle);
  }
  std::optional<FrameStore::Handle> clone(FrameStore::Handle handle) {
    return store_->copy(handle);
  }
  void free(FrameStore::Handle handle) { store_->free(handle); }
  static void fetch(FrameStore::Handle /*handle*/) noexcept {}
  static void fetch_all(FrameStore::Handle /*handle*/) noexcept {}

 private:
  FrameStore* store_;
};

}  // namespace lw::impair
