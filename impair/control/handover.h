// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <thread>

#include "core/time.h"

namespace lw::impair {

/// Lends something of the control thread's to the data path for a moment between two bursts: a
/// configuration to swap for the old one, a report to fill in. The data path pays one load a turn,
/// never waits and never allocates or frees; what it swapped out goes back to the control thread.
template <class Thing>
class Handover {
 public:
  /// Control thread: lends `thing` and waits until the data path is done with it. False when that
  /// didn't happen in `patience` (the run has ended): the data path will not touch it any more.
  [[nodiscard]] bool lend(Thing& thing, Duration patience) {
    done_.store(false, std::memory_order_relaxed);
    lent_.store(&thing, std::memory_order_release);
    constexpr Duration kLook = std::chrono::microseconds(100);
    for (Duration waited{}; waited < patience; waited += kLook) {
      if (done_.load(std::memory_order_acquire)) return true;
      std::this_thread::sleep_for(kLook);
    }
    // Taken back, unless the data path has it in hand just now: then it is done in a moment.
    if (lent_.exchange(nullptr, std::memory_order_acq_rel) != nullptr) return false;
    while (!done_.load(std::memory_order_acquire)) std::this_thread::yield();
    return true;
  }

  /// Data path: use(thing) if one is lent.
  template <class Use>
  void take(Use use) {
    if (lent_.load(std::memory_order_relaxed) == nullptr) [[likely]]
      return;
    Thing* thing = lent_.exchange(nullptr, std::memory_order_acq_rel);
    if (thing == nullptr) return;
    use(*thing);
    done_.store(true, std::memory_order_release);
  }

 private:
  std::atomic<Thing*> lent_{nullptr};
  std::atomic<bool> done_{false};
};

}  // namespace lw::impair
