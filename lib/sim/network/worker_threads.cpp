// SPDX-License-Identifier: BSD-3-Clause
#include "sim/network/worker_threads.h"

#include <system_error>
#include <utility>

namespace lw::sim {

WorkerThreads::WorkerThreads(std::size_t threads)
    : begin_(static_cast<std::ptrdiff_t>(threads)), end_(static_cast<std::ptrdiff_t>(threads)) {
  threads_.reserve(threads);
  for (std::size_t i = 1; i < threads; ++i) {
    try {
      threads_.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {  // the system gives no more: those that run do the work
      begin_.arrive_and_drop();
      end_.arrive_and_drop();
    }
  }
}

WorkerThreads::~WorkerThreads() {
  work_ = nullptr;
  begin_.arrive_and_wait();
  for (std::thread& each : threads_) each.join();
}

void WorkerThreads::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  work_ = &work;
  count_ = count;
  next_.store(0, std::memory_order_relaxed);
  begin_.arrive_and_wait();
  do_pieces();
  end_.arrive_and_wait();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void WorkerThreads::serve() {
  for (;;) {
    begin_.arrive_and_wait();
    if (work_ == nullptr) return;
    do_pieces();
    end_.arrive_and_wait();
  }
}

void WorkerThreads::do_pieces() noexcept {
  for (;;) {
    const std::size_t piece = next_.fetch_add(1, std::memory_order_relaxed);
    if (piece >= count_) return;
    try {
      (*work_)(piece);
    } catch (...) {
      const std::lock_guard lock(failing_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
}

}  // namespace lw::sim
