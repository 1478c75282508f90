// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <thread>

namespace lw::impair {

/// Lets one thread of two have what both work on for a moment: the other is kept waiting between
/// two turns of its loop. That one pays a load a turn.
class Gate {
 public:
  /// The thread that may be kept waiting: between two turns.
  void pass() noexcept {
    if (!wanted_.load(std::memory_order_relaxed)) [[likely]]
      return;
    waiting_.store(true, std::memory_order_release);
    while (wanted_.load(std::memory_order_acquire)) std::this_thread::yield();
    waiting_.store(false, std::memory_order_release);
  }
  /// The same thread, when it begins and when it has ended its loop: as long as it doesn't work,
  /// nobody has to wait for it.
  void open() noexcept {
    working_.store(true, std::memory_order_relaxed);
    // Either side must see what the other has just said.
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void leave() noexcept { working_.store(false, std::memory_order_release); }

  /// The other thread, for as long as this stands. Not one within another.
  class Closed {
   public:
    explicit Closed(Gate& gate) noexcept : gate_(&gate) {
      gate.wanted_.store(true, std::memory_order_relaxed);
      std::atomic_thread_fence(std::memory_order_seq_cst);
      while (gate.working_.load(std::memory_order_acquire) &&
             !gate.waiting_.load(std::memory_order_acquire))
        std::this_thread::yield();
    }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;
    ~Closed() {
      gate_->wanted_.store(false, std::memory_order_release);
      // It must have seen that, or it would be taken for waiting the next time.
      while (gate_->working_.load(std::memory_order_acquire) &&
             gate_->waiting_.load(std::memory_order_acquire))
        std::this_thread::yield();
    }

   private:
    Gate* gate_;
  };

 private:
  std::atomic<bool> wanted_{false}, waiting_{false}, working_{false};
};

}  // namespace lw::impair
