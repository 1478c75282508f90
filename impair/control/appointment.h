// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <limits>
#include <thread>

#include "core/time.h"

namespace lw::impair {

/// Lends something of the control thread's to the data path for an instant to come: a configuration
/// to be swapped for the old one then. The data path pays two loads a turn, and neither waits,
/// allocates nor frees. One control thread at a time.
template <class Thing>
class Appointment {
 public:
  /// Control thread: `thing` is to be used at `at`, since time 0 or by the clock. Only where
  /// nothing is lent.
  void lend(Thing& thing, Duration at, bool since_zero) noexcept {
    done_.store(false, std::memory_order_relaxed);
    lent_.store(&thing, std::memory_order_release);
    (since_zero ? since_zero_ : by_clock_).store(at.count(), std::memory_order_release);
  }
  /// Control thread: it was used.
  [[nodiscard]] bool kept() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Control thread: takes it back. False: it was used before.
  [[nodiscard]] bool withdraw() noexcept {
    since_zero_.store(kNever, std::memory_order_relaxed);
    by_clock_.store(kNever, std::memory_order_relaxed);
    while (!kept()) {
      if (lent_.exchange(nullptr, std::memory_order_acq_rel)) return true;
      std::this_thread::yield();  // it is in use just now
    }
    return false;
  }

  /// Data path: use(thing) if one is due.
  template <class Use>
  void keep(Instant now, Instant zero, Use use) {
    if (!due(now, zero)) [[likely]]
      return;
    Thing* thing = lent_.exchange(nullptr, std::memory_order_acq_rel);
    if (!thing) return;
    // It may be another one, for later, that was lent in the meantime.
    if (!due(now, zero)) return lent_.store(thing, std::memory_order_release);
    since_zero_.store(kNever, std::memory_order_relaxed);
    by_clock_.store(kNever, std::memory_order_relaxed);
    use(*thing);
    done_.store(true, std::memory_order_release);
  }

 private:
  static constexpr Duration::rep kNever = std::numeric_limits<Duration::rep>::max();

  /// `zero` is far in the future as long as it isn't known.
  [[nodiscard]] bool due(Instant now, Instant zero) const noexcept {
    return now.time_since_epoch().count() >= by_clock_.load(std::memory_order_acquire) ||
           (now - zero).count() >= since_zero_.load(std::memory_order_acquire);
  }

  std::atomic<Duration::rep> since_zero_{kNever}, by_clock_{kNever};
  std::atomic<Thing*> lent_{nullptr};
  std::atomic<bool> done_{false};
};

}  // namespace lw::impair
