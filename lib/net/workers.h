// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace lw::net {

/// Work for another thread.
class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;
  virtual void run() noexcept = 0;
};

/// A fixed number of threads that run jobs, in the order of their arrival.
class Workers {
 public:
  /// Starts `count` threads, or as many as the system allows. Without any, run() runs jobs itself.
  explicit Workers(std::size_t count);
  /// Waits for the jobs that run, and drops the others.
  ~Workers() = default;

  /// Any thread, like cancel().
  void run(std::shared_ptr<Job> job);
  /// Drops a job that has not begun.
  void cancel(const std::shared_ptr<Job>& job);

 private:
  void work(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Job>> jobs_;  // guarded by mutex_
  std::vector<std::jthread> threads_;      // the last member: they use all others
};

}  // namespace lw::net
