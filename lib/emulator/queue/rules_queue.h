// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>

#include "emulator/decision.h"
#include "emulator/queue/line_queue.h"
#include "emulator/stats/service_watch.h"

namespace lw::emulator {

/// A queue of one direction in which the frames of one rule wait, or of several.
struct RulesQueue {
  static constexpr Instant kUndecided = Instant::max();
  /// What the queue knows about a frame.
  struct Waiting {
    RuleIndex rule = kUntouched;     // kUntouched: the frame has gone, and only its place waits
    std::uint32_t row = UINT32_MAX;  // of the rule's trace; kNoRow: none
    Duration extra{};                // added to its delay, by an event
    Instant came{};
    // When the rule releases the frame; kUndecided: it decides when the frame leaves the queue.
    Instant release = kUndecided;
  };
  using Frames = LineQueue<Waiting>;

  RulesQueue(std::string owner_name, LineQueueConfig line)
      : owner(std::move(owner_name)), config(std::move(line)), frames(config), watch(config) {}

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
  /// Removes the next frame that has left by `now`, and calls use(sent, busy_bytes): its bytes on
  /// the link if it was seen to leave directly after another, otherwise 0. Returns false if there
  /// is none.
  template <class Use>
  bool depart(Instant now, Use use) noexcept {
    return frames.depart(now, [&](const Frames::SentFrame& sent) {
      use(sent, watch.left(sent.cls, sent.bytes, sent.times, sent.handle.came));
    });
  }

  std::string owner;  // the rule that describes it
  LineQueueConfig config;
  Frames frames;
  ServiceWatch watch;
  bool obeys_pauses = false;  // a rule lets it obey pause frames
};

}  // namespace lw::emulator
