// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "emulator/decision.h"
#include "emulator/queue/shared_queue.h"
#include "emulator/stats/service_watch.h"

namespace lw::emulator {

/// A queue of one direction in which the frames of several rules wait.
struct RulesQueue {
  /// What the queue knows about a frame.
  struct Waiting {
    RuleIndex rule = kUntouched;  // kUntouched: the frame has gone, and only its place waits
    std::uint32_t row = 0;        // of the rule's trace
    Duration extra{};             // added to its delay, by an event
    Instant came{};
  };
  using Frames = SharedQueue<Waiting>;

  RulesQueue(std::string owner_name, SharedQueueConfig shared)
      : owner(std::move(owner_name)), config(std::move(shared)), frames(config), watch(config) {}

  /// Takes over the frames of the queue that this one replaces at `now`.
  void take_over(RulesQueue& old, Instant now) noexcept {
    frames.take_over(old.frames, now);
    if (config == old.config) {
      watch = old.watch;
    } else {
      watch.take_over(old.watch);
    }
  }
  void pause(std::uint32_t cls, Instant now, Instant until) noexcept {
    frames.pause(cls, now, until);
    watch.pause(cls, until);
  }
  /// Removes the next frame that has left by `now`, and calls use(sent); false if there is none.
  template <class Use>
  bool depart(Instant now, Use use) noexcept {
    return frames.depart(now, [&](const Frames::SentFrame& sent) {
      watch.left(sent.cls, times_of(sent), sent.handle.came, sent.follows);
      use(sent);
    });
  }
  /// A frame's times, as a queue of one class states them.
  [[nodiscard]] static Bottleneck::Frame times_of(const Frames::SentFrame& sent) noexcept {
    return {.starts = sent.starts,
            .ends = sent.ends,
            .extra = sent.handle.extra,
            .bytes = sent.bytes,
            .row = sent.handle.row,
            .fraction = sent.departs > sent.ends ? 0.5 : 0};
  }

  std::string owner;  // the rule that describes it
  SharedQueueConfig config;
  Frames frames;
  ServiceWatch watch;
};

}  // namespace lw::emulator
