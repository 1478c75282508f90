// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/idle.h"

#include <algorithm>
#include <sched.h>
#include <sys/prctl.h>
#include <time.h>

#include "nic/clock.h"

namespace lw::impair {

Idle::Idle(IdleMode mode) : mode_(mode) { prctl(PR_SET_TIMERSLACK, 1UL); }

void Idle::rest(Instant now, Instant next) noexcept {
  if (mode_ == IdleMode::yield) sched_yield();
  if (mode_ != IdleMode::adaptive || ++empty_turns_ < kPatience) return;
  if (next <= now + wake_up_) return;
  const Duration pause = std::min(kLongest, next - now - wake_up_);
  const timespec length{0, pause.count()};
  nanosleep(&length, nullptr);
  learn(nic::now() - now - pause);
}

/// Follows a rise at once and a fall slowly: about the worst of the last hundred.
void Idle::learn(Duration late) noexcept {
  wake_up_ = std::clamp(std::max(late, wake_up_ - wake_up_ / 64), kShortestWakeUp, kLongestWakeUp);
}

}  // namespace lw::impair
