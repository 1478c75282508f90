// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/idle_mode.h"
#include "core/time.h"

namespace lw::impair {

/// What the loop does when there is nothing to do. Adaptive, it sleeps after some empty turns,
/// never past the next release less the time to wake up.
class Idle {
 public:
  /// Makes the kernel wake the calling thread on time: the usual slack of 50 us is lifted.
  explicit Idle(IdleMode mode);

  /// After a turn that moved nothing; `next` is when something will be due.
  void rest(Instant now, Instant next) noexcept;
  /// After a turn that moved something.
  void busy() noexcept { empty_turns_ = 0; }

 private:
  static constexpr int kPatience = 64;         // turns: some microseconds
  static constexpr Duration kLongest{50'000};  // bounds what the first frame after a pause waits
  // How late a sleeper wakes differs from machine to machine, 5 us here and 60 us in a guest
  // there: so it is learnt, within these bounds, and left before the next release.
  static constexpr Duration kShortestWakeUp{10'000}, kLongestWakeUp{100'000};

  void learn(Duration late) noexcept;

  IdleMode mode_;
  int empty_turns_ = 0;
  Duration wake_up_ = kShortestWakeUp;
};

}  // namespace lw::impair
