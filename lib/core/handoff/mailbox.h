// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <limits>
#include <thread>

#include "core/time.h"

namespace lw {

/// Lends one object of a control thread to a polling thread, which uses it between two rounds of
/// its loop: at once (take()), or when a due time has come (take_due()). The polling thread pays
/// one or two loads per round, and never waits, allocates or frees. One control thread at a time.
template <class T>
class Mailbox {
 public:
  /// Control thread: lends `object` for take(), and waits until it was used. False: it was not used
  /// within `timeout` (the polling thread has ended), and will not be.
  [[nodiscard]] bool lend(T& object, Duration timeout) {
    done_.store(false, std::memory_order_relaxed);
    lent_.store(&object, std::memory_order_release);
    constexpr Duration kInterval = std::chrono::microseconds(100);
    for (Duration waited{}; waited < timeout; waited += kInterval) {
      if (done()) return true;
      std::this_thread::sleep_for(kInterval);
    }
    return !withdraw();
  }
  /// Control thread: lends `object` for take_due() at `at`, which counts from time 0 of the polling
  /// thread (`since_zero`) or from the clock's epoch. Requires that nothing is lent.
  void lend_until_due(T& object, Duration at, bool since_zero) noexcept {
    done_.store(false, std::memory_order_relaxed);
    lent_.store(&object, std::memory_order_release);
    (since_zero ? since_zero_ : by_clock_).store(at.count(), std::memory_order_release);
  }
  /// Control thread: the object that was lent last has been used.
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Control thread: takes the object back. False: it has been used.
  [[nodiscard]] bool withdraw() noexcept {
    clear_due();
    while (!done()) {
      if (lent_.exchange(nullptr, std::memory_order_acq_rel)) return true;
      std::this_thread::yield();  // the polling thread is using it
    }
    return false;
  }

  /// Polling thread: calls use(object) if an object is lent.
  template <class Use>
  void take(Use use) {
    if (lent_.load(std::memory_order_relaxed) == nullptr) [[likely]]
      return;
    if (T* object = lent_.exchange(nullptr, std::memory_order_acq_rel)) finish(*object, use);
  }
  /// Polling thread: calls use(object) if an object is lent and due at `now`. `zero`: time 0;
  /// Instant::max() while it is not known.
  template <class Use>
  void take_due(Instant now, Instant zero, Use use) {
    if (!due(now, zero)) [[likely]]
      return;
    T* object = lent_.exchange(nullptr, std::memory_order_acq_rel);
    if (!object) return;
    // The control thread may have lent another object meanwhile, for a later time.
    if (!due(now, zero)) return lent_.store(object, std::memory_order_release);
    clear_due();
    finish(*object, use);
  }

 private:
  static constexpr Duration::rep kNever = std::numeric_limits<Duration::rep>::max();

  template <class Use>
  void finish(T& object, Use& use) {
    use(object);
    done_.store(true, std::memory_order_release);
  }
  void clear_due() noexcept {
    since_zero_.store(kNever, std::memory_order_relaxed);
    by_clock_.store(kNever, std::memory_order_relaxed);
  }
  [[nodiscard]] bool due(Instant now, Instant zero) const noexcept {
    return now.time_since_epoch().count() >= by_clock_.load(std::memory_order_acquire) ||
           (now - zero).count() >= since_zero_.load(std::memory_order_acquire);
  }

  std::atomic<Duration::rep> since_zero_{kNever}, by_clock_{kNever};
  std::atomic<T*> lent_{nullptr};
  std::atomic<bool> done_{false};
};

}  // namespace lw
