// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "core/time.h"

namespace lw {

/// Queue for one producer thread and one consumer thread. Holds `kCapacity` items, a power of two.
template <class Item, std::size_t kCapacity = 64>
class SpscQueue {
 public:
  /// Called by the producer. Returns false, and discards the item, if the queue is full.
  bool push(const Item& item) noexcept {
    const auto at = written_.load(std::memory_order_relaxed);
    if (at - read_.load(std::memory_order_acquire) == kCapacity) return false;
    ring_[at % kCapacity] = item;
    written_.store(at + 1, std::memory_order_release);
    return true;
  }
  /// Called by the consumer. Returns the oldest item; nothing if the queue is empty.
  [[nodiscard]] std::optional<Item> pop() noexcept {
    const auto at = read_.load(std::memory_order_relaxed);
    if (at == written_.load(std::memory_order_acquire)) return std::nullopt;
    const Item item = ring_[at % kCapacity];
    read_.store(at + 1, std::memory_order_release);
    return item;
  }

 private:
  static_assert((kCapacity & (kCapacity - 1)) == 0);

  std::array<Item, kCapacity> ring_{};
  alignas(64) std::atomic<std::uint32_t> written_{0};
  alignas(64) std::atomic<std::uint32_t> read_{0};
};

/// Queue between two threads that may wait for each other. For large items. A thread that waits
/// yields its core for some tens of microseconds before it sleeps: a sleeping thread wakes as late
/// as that in a guest. (Two jobs of the analysis of a million frames took 0.10 to 0.15 s when both
/// only slept, and take 0.10 to 0.11 s in most runs.)
template <class Item>
class WaitingQueue {
 public:
  explicit WaitingQueue(std::size_t capacity) : capacity_(capacity) {}

  /// Waits while the queue is full.
  void push(Item item) {
    yield_while([this] { return size_ >= capacity_; });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return items_.size() < capacity_; });
    items_.push_back(std::move(item));
    size_ = items_.size();
    changed_.notify_all();
  }
  /// Ends the queue: no push() may follow.
  void close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  /// Returns the oldest item; waits while the queue is empty. Returns nothing once the queue is
  /// closed and empty.
  [[nodiscard]] std::optional<Item> pop() {
    yield_while([this] { return size_ == 0 && !closed_; });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty() || closed_; });
    if (items_.empty()) return std::nullopt;
    std::optional<Item> item(std::move(items_.front()));
    items_.pop_front();
    size_ = items_.size();
    changed_.notify_all();
    return item;
  }

 private:
  static void yield_while(const auto& condition) {
    constexpr int kRounds = 200;
    for (int round = 0; round < kRounds && condition(); ++round) std::this_thread::yield();
  }

  std::size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::atomic<std::size_t> size_{0};  // of items_, to look at without the lock
  std::atomic<bool> closed_{false};
};

/// Lends one object of a control thread to a polling thread. The polling thread uses the object
/// between two rounds of its loop: at once (use_lent()), or when a due time has come (use_due()).
/// It pays one or two loads per round, and never waits, allocates or frees. One control thread at a
/// time.
template <class T>
class Mailbox {
 public:
  /// Control thread: lends `object` for use_lent() and waits until it was used. Returns false if it
  /// was not used within `timeout` or before close(); it is then taken back.
  [[nodiscard]] bool lend(T& object, Duration timeout) {
    done_.store(false, std::memory_order_relaxed);
    lent_.store(&object, std::memory_order_release);
    constexpr Duration kInterval = std::chrono::microseconds(100);
    for (Duration waited{}; waited < timeout && !closed_.load(); waited += kInterval) {
      if (done()) return true;
      std::this_thread::sleep_for(kInterval);
    }
    return !withdraw();
  }
  /// Any thread: ends the present and all later waits of lend(), as the polling thread has ended.
  void close() noexcept { closed_.store(true); }
  [[nodiscard]] bool closed() const noexcept { return closed_.load(); }
  /// Control thread: lends `object` for use_due() at `at`, which counts from time 0 of the polling
  /// thread (`since_zero`) or from the clock's epoch. Requires that nothing is lent.
  void lend_until_due(T& object, Duration at, bool since_zero) noexcept {
    done_.store(false, std::memory_order_relaxed);
    lent_.store(&object, std::memory_order_release);
    (since_zero ? since_zero_ : by_clock_).store(at.count(), std::memory_order_release);
  }
  /// Control thread: returns true if the object that was lent last has been used.
  [[nodiscard]] bool done() const noexcept { return done_.load(std::memory_order_acquire); }
  /// Control thread: takes the object back. Returns false if it has been used.
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
  void use_lent(Use use) {
    if (lent_.load(std::memory_order_relaxed) == nullptr) [[likely]]
      return;
    if (T* object = lent_.exchange(nullptr, std::memory_order_acq_rel)) finish(*object, use);
  }
  /// Polling thread: calls use(object) if an object is lent and due at `now`. `zero` is time 0;
  /// Instant::max() while it is not known.
  template <class Use>
  void use_due(Instant now, Instant zero, Use use) {
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
  std::atomic<bool> done_{false}, closed_{false};
};

/// Lets a control thread stop a worker thread between two rounds of the worker's loop, and use the
/// worker's data while it is stopped. The worker pays one load per round. One control thread.
class Quiesce {
 public:
  /// Worker: call enter() before its loop and leave() after it. A control thread does not wait for
  /// a worker that is outside its loop.
  void enter() noexcept { replace_when(State::absent, State::running); }
  void leave() noexcept {
    State seen = State::running;
    if (!state_.compare_exchange_strong(seen, State::absent, std::memory_order_acq_rel))
      state_.store(State::held, std::memory_order_release);
  }
  /// Worker: call between two rounds. Waits while a control thread holds the worker stopped.
  void pass() noexcept {
    if (state_.load(std::memory_order_relaxed) == State::running) [[likely]]
      return;
    state_.store(State::parked, std::memory_order_release);
    while (state_.load(std::memory_order_acquire) == State::parked) std::this_thread::yield();
  }

  /// Control thread: holds the worker stopped as long as this object lives. Does not nest.
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
    held,       // the worker is outside its loop, and must not enter
    running,    // the worker is in its loop
    requested,  // the worker is in its loop, and is asked to stop
    parked,     // the worker has stopped
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
