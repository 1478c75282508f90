// SPDX-License-Identifier: BSD-3-Clause
#include "nic/idle.h"

#include <algorithm>
#include <ctime>
#include <sched.h>
#include <sys/prctl.h>

#include <rte_pause.h>

#include "nic/clock.h"

namespace lw::nic {
namespace {

// bounds the delay of the first frame
constexpr Duration kLongestRest = std::chrono::microseconds(50);
// Wake-up latency differs between machines (5 us on a host, 60 us in a guest), so it is measured.
constexpr Duration kShortestWakeUp = std::chrono::microseconds(10);
constexpr Duration kLongestWakeUp = std::chrono::microseconds(100);

void sleep_for(Duration length) noexcept {
  const timespec time{0, static_cast<long>(length.count())};
  nanosleep(&time, nullptr);
}

}  // namespace

Idle::Idle(IdleMode mode, int empty_rounds)
    : mode_(mode), rounds_before_sleep_(empty_rounds), wake_up_(kShortestWakeUp) {
  prctl(PR_SET_TIMERSLACK, 1UL);
}

bool Idle::may_sleep() noexcept {
  if (mode_ == IdleMode::yield) sched_yield();
  return mode_ == IdleMode::adaptive && ++empty_rounds_ >= rounds_before_sleep_;
}

void Idle::rest(Instant now, Instant next) noexcept {
  if (!may_sleep() || next <= now + wake_up_) return;
  const Duration pause = std::min(kLongestRest, next - now - wake_up_);
  sleep_for(pause);
  learn(nic::now() - now - pause);
}

bool Idle::nap(Duration length) noexcept {
  if (!may_sleep()) return false;
  sleep_for(length);
  return true;
}

void Idle::yield() const noexcept {
  if (mode_ != IdleMode::spin) sched_yield();
}

/// Follows an increase at once and a decrease slowly, so the result is about the maximum of the
/// last hundred values. A longer lateness is a time slice of another thread, which waking up
/// earlier does not avoid: it takes more of the core (beside two busy processes, the 99 % quantile
/// of the error of 5 ms was 1.12 of a pass-through's, and is 1.06).
void Idle::learn(Duration late) noexcept {
  if (late > kLongestWakeUp) return;
  wake_up_ = std::clamp(std::max(late, wake_up_ - wake_up_ / 64), kShortestWakeUp, kLongestWakeUp);
}

void wait_towards(Duration ahead, bool may_sleep) noexcept {
  constexpr Duration kTimerLatency = std::chrono::microseconds(100);
  constexpr Duration kShortestYield = std::chrono::microseconds(5);
  if (may_sleep && ahead > kTimerLatency) {
    sleep_for(std::min(ahead - kTimerLatency, kLongestSleep));
  } else if (ahead > kShortestYield) {
    sched_yield();
  } else {
    rte_pause();
  }
}

}  // namespace lw::nic
