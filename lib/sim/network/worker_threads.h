// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace lw::sim {

/// Threads that share pieces of work with their caller. Between two runs they sleep.
class WorkerThreads {
 public:
  /// `threads`: the caller's included, at least 1; fewer if the system gives no more.
  explicit WorkerThreads(std::size_t threads);
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;
  WorkerThreads(WorkerThreads&&) = delete;
  WorkerThreads& operator=(WorkerThreads&&) = delete;
  ~WorkerThreads();

  /// Calls work(0) to work(count - 1), each once, in any order and on any thread. Returns when all
  /// have returned; throws the first exception that one threw.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void serve();
  void do_pieces() noexcept;

  std::barrier<> begin_, end_;
  const std::function<void(std::size_t)>* work_ = nullptr;  // null: the threads end
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::mutex failing_;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace lw::sim
