// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/channel.h"
#include "emulator/direction.h"
#include "emulator/events/cm_learner.h"

namespace lw::emulator {

/// Connection set-up that was heard in one direction, on its way to the other: a request passes
/// one way and its reply the other. What is lost where the reader is behind is a PSN that is then
/// learnt from the packets.
using CmChannel = Channel<CmSighting>;

/// What the two directions of a box tell each other.
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
