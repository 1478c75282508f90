// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>

#include "core/time.h"

namespace lw::sim {

/// A time of a job, divided by what it was spent on.
struct TimeParts {
  Duration computing{};      // of ranks; also until the start that a trace gives a message
  Duration overhead{};       // of steps
  Duration path{};           // delay of cables, switches and NICs
  Duration serialisation{};  // bytes of the rank's own messages, at the slowest cable of the way
  Duration window{};         // the send queue or a window was full: an ACK had to come first
  Duration recovery{};       // from when a packet was sent that was lost until it was sent again
  Duration congestion{};     // the rest: others' packets, pauses, rate control

  [[nodiscard]] Duration total() const noexcept {
    return computing + overhead + path + serialisation + window + recovery + congestion;
  }
  TimeParts& operator+=(const TimeParts& other) noexcept {
    computing += other.computing;
    overhead += other.overhead;
    path += other.path;
    serialisation += other.serialisation;
    window += other.window;
    recovery += other.recovery;
    congestion += other.congestion;
    return *this;
  }
};

/// The time of an event since its job's start, divided along a chain of events: before each event
/// stands the last of all events that it waited for. The parts' total is the whole time.
struct CauseChain {
  TimeParts parts;
  Instant at;

  /// The chain of a later event that waited for this one, and meanwhile for `part`.
  [[nodiscard]] CauseChain until(Instant later, Duration TimeParts::* part) const noexcept {
    CauseChain next = *this;
    next.parts.*part += later - at;
    next.at = later;
    return next;
  }
  /// The chain of an event that waited for a message, of which `message` are the parts.
  [[nodiscard]] CauseChain after(const TimeParts& message) const noexcept {
    CauseChain next = *this;
    next.parts += message;
    next.at += message.total();
    return next;
  }
};

}  // namespace lw::sim
