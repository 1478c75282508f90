// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "core/error.h"

namespace lw::impair {

/// Prepares the changes that clients ask for, one at a time, in a thread of its own: parsing a
/// profile or compiling a filter holds no lock that forwarding, the scenario, the watch of the
/// links or reports need. Any thread may call it.
class PreparingThread {
 public:
  using Clock = std::chrono::steady_clock;
  template <class T>
  using Work = std::function<Result<T>(const std::stop_token& given_up)>;

  PreparingThread() = default;
  /// Ends the thread, at the latest when the work in progress has ended.
  ~PreparingThread();
  PreparingThread(const PreparingThread&) = delete;
  PreparingThread& operator=(const PreparingThread&) = delete;

  /// Returns what `work` returns. Waits for earlier work, and for this one, until `until` at most:
  /// after it, `given_up` is requested, and this returns an error (failed). The work may go on
  /// until it sees `given_up`, so it must own what it uses. Error also (environment): no thread can
  /// be started; (failed): `work` threw, as where memory is used up.
  template <class T>
  [[nodiscard]] Result<T> run(Clock::time_point until, Work<T> work) {
    auto made = std::make_shared<std::optional<Result<T>>>();  // guarded by mutex_
    std::stop_source given_up;
    std::unique_lock lock(mutex_);
    if (!waited(lock, until, [this] { return !job_; })) return refusal();
    if (auto started = start(); !started) return std::unexpected(started.error());
    job_ = [this, made, work = std::move(work), token = given_up.get_token()] {
      Result<T> result = caught<T>(work, token);
      const std::lock_guard guard(mutex_);
      *made = std::move(result);
    };
    changed_.notify_all();
    if (waited(lock, until, [&] { return made->has_value(); })) return std::move(**made);
    given_up.request_stop();
    return refusal();
  }

  /// Ends all present and later waits of run() at once, with its error. For the end of a run.
  void close();

 private:
  /// Returns true once `reached()` holds; false at `until` or after close().
  template <class Reached>
  bool waited(std::unique_lock<std::mutex>& lock, Clock::time_point until, Reached reached) {
    changed_.wait_until(lock, until, [&] { return closed_ || reached(); });
    return reached() && !closed_;
  }
  template <class T>
  static Result<T> caught(const Work<T>& work, const std::stop_token& given_up) {
    try {
      return work(given_up);
    } catch (const std::exception& error) {
      return not_prepared(error);
    }
  }
  static std::unexpected<Error> not_prepared(const std::exception& error);
  [[nodiscard]] std::unexpected<Error> refusal() const;
  Result<void> start();
  void work();

  std::mutex mutex_;  // guards the next three
  std::condition_variable changed_;
  std::function<void()> job_;  // the work in progress; empty: none
  bool closed_ = false;
  std::jthread thread_;  // starts with the first work; the last member: it uses all others
};

}  // namespace lw::impair
