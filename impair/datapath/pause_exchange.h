// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/handoff/spsc_queue.h"
#include "emulator/direction.h"
#include "wire/pfc.h"

namespace lw::impair {

/// A message from one direction to the other about flow control.
struct PauseNote {
  enum class Kind : std::uint8_t {
    heard,  // a pause frame that came in for the other direction's queues
    send,   // a pause frame that this direction's queues want sent against their stream
  };
  Kind kind = Kind::heard;
  wire::PfcFields fields;
};

/// Both directions' messages to each other; each may run on a thread of its own. A message is lost
/// when its queue is full, as a pause frame may be on a wire: the sender repeats it.
class PauseExchange {
 public:
  using Notes = SpscQueue<PauseNote>;

  [[nodiscard]] Notes& from(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_eastward_ : from_westward_;
  }
  [[nodiscard]] Notes& to(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? from_westward_ : from_eastward_;
  }

 private:
  Notes from_eastward_, from_westward_;
};

}  // namespace lw::impair
