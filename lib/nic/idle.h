// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/time.h"

namespace lw {

/// The behaviour of a polling thread in a round without work: sleep (adaptive, after some rounds),
/// yield the core, or poll again at once.
enum class IdleMode : std::uint8_t { adaptive, yield, spin };

/// Names of the modes, indexed by their values.
inline const std::array<std::string, 3> kIdleModes = {"adaptive", "yield", "spin"};

/// Returns the mode of a name, which is one of kIdleModes.
constexpr IdleMode idle_mode_of(std::string_view name) noexcept {
  return name == "spin" ? IdleMode::spin : name == "yield" ? IdleMode::yield : IdleMode::adaptive;
}

}  // namespace lw

namespace lw::nic {

/// The sleep of a thread that may get work at any time. A shorter one does not give the core away:
/// to set the timer takes a guest 10 us, so a timer of 10 us expires before the kernel has switched
/// to another thread, which then waits for a whole time slice (measured: 2.8 ms; the median of a
/// WRITE over 380 km through three processes on two cores was 2.32 ms, and is 2.02 ms).
inline constexpr Duration kShortestNap = std::chrono::microseconds(50);

/// The idle strategy of one polling thread. The loop calls busy() after a round with work, and
/// rest() or nap() after one without.
class Idle {
 public:
  static constexpr int kEmptyRounds = 64;  // some microseconds

  /// Removes the calling thread's timer slack (50 us by default), so that the kernel wakes it on
  /// time. Adaptive mode sleeps after `empty_rounds` consecutive rounds without work.
  explicit Idle(IdleMode mode, int empty_rounds = kEmptyRounds);

  void busy() noexcept { empty_rounds_ = 0; }
  /// Waits for work that is due at `next`. Sleeps at most 50 us, and wakes up before `next` by the
  /// measured wake-up latency of this machine.
  void rest(Instant now, Instant next) noexcept;
  /// Waits for work that may come at any time: sleeps for `length`, at least kShortestNap. Returns
  /// false if it did not sleep.
  bool nap(Duration length) noexcept;
  /// Waits for work that comes soon: yields the core, unless the mode is to poll again at once.
  void yield() const noexcept;

 private:
  [[nodiscard]] bool may_sleep() noexcept;
  void learn(Duration late) noexcept;

  IdleMode mode_;
  int rounds_before_sleep_;
  int empty_rounds_ = 0;
  Duration wake_up_;  // expected wake-up latency
};

/// The longest sleep of wait_towards().
inline constexpr Duration kLongestSleep = std::chrono::milliseconds(20);

/// Waits once for an event that is `ahead` from now: sleeps (if allowed), yields or spins. Returns
/// early, at the latest after kLongestSleep, so that the caller can check for signals and read the
/// clock again.
void wait_towards(Duration ahead, bool may_sleep = true) noexcept;

}  // namespace lw::nic
