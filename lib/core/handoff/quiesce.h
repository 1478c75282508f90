// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

namespace lw {

/// Lets a control thread stop a worker thread between two rounds of the worker's loop, and use what
/// the worker uses meanwhile. The worker pays one load per round. One control thread.
class Quiesce {
 public:
  /// Worker: before its loop, and after it. A control thread does not wait for a worker that is
  /// outside enter() and leave().
  void enter() noexcept { replace_when(State::absent, State::running); }
  void leave() noexcept {
    State seen = State::running;
    if (!state_.compare_exchange_strong(seen, State::absent, std::memory_order_acq_rel))
      state_.store(State::held, std::memory_order_release);
  }
  /// Worker: between two rounds. Waits while a control thread holds the worker stopped.
  void pass() noexcept {
    if (state_.load(std::memory_order_relaxed) == State::running) [[likely]]
      return;
    state_.store(State::parked, std::memory_order_release);
    while (state_.load(std::memory_order_acquire) == State::parked) std::this_thread::yield();
  }

  /// Control thread: holds the worker stopped for as long as the object lives. Does not nest.
  class Stopped {
   public:
    explicit Stopped(Quiesce& quiesce) noexcept : quiesce_(&quiesce) { quiesce.stop(); }
    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;
    ~Stopped() { quiesce_->resume(); }

   private:
    Quiesce* quiesce_;
  };

 private:
  enum class State : std::uint8_t {
    absent,     // the worker is outside its loop
    held,       // the same, and it may not enter
    running,    // the worker is in its loop
    requested,  // the same, and it shall stop
    parked,     // it has stopped
  };

  void replace_when(State expected, State next) noexcept {
    for (State seen = expected;
         !state_.compare_exchange_weak(seen, next, std::memory_order_acq_rel); seen = expected)
      std::this_thread::yield();
  }
  void stop() noexcept {
    for (State seen = state_.load(std::memory_order_acquire);;) {
      const State next = seen == State::absent ? State::held : State::requested;
      if (state_.compare_exchange_weak(seen, next, std::memory_order_acq_rel)) break;
    }
    while (state_.load(std::memory_order_acquire) == State::requested) std::this_thread::yield();
  }
  void resume() noexcept {
    const bool parked = state_.load(std::memory_order_acquire) == State::parked;
    state_.store(parked ? State::running : State::absent, std::memory_order_release);
  }

  std::atomic<State> state_{State::absent};
};

}  // namespace lw
