// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/handoff.h"
#include "emulator/direction.h"
#include "roce/cm_learner.h"

namespace lw::emulator {

/// Connection set-up messages seen in one direction, passed to the other direction: a request
/// passes one way, its reply the other. If the queue is full a message is lost; the first PSN is
/// then learnt from the packets.
using CmChannel = SpscQueue<roce::CmSighting>;

/// The queues between the two directions, for connection set-up messages.
class CmExchange {
 public:
  [[nodiscard]] CmChannel& from(Direction direction) noexcept {
    return direction == Direction::west_to_east ? from_west_ : from_east_;
  }
  [[nodiscard]] CmChannel& to(Direction direction) noexcept {
    return direction == Direction::west_to_east ? from_east_ : from_west_;
  }

 private:
  CmChannel from_west_, from_east_;
};

}  // namespace lw::emulator
