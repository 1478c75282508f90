// SPDX-License-Identifier: BSD-3-Clause
#include "net/workers.h"

#include <system_error>
#include <utility>

namespace lw::net {

Workers::Workers(std::size_t count) {
  threads_.reserve(count);
  try {
    while (threads_.size() < count)
      threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  } catch (const std::system_error&) {
    // No further thread: those that run share the jobs.
  }
}

void Workers::run(std::shared_ptr<Job> job) {
  if (threads_.empty()) return job->run();
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_one();
}

void Workers::cancel(const std::shared_ptr<Job>& job) {
  const std::lock_guard lock(mutex_);
  std::erase(jobs_, job);
}

void Workers::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !jobs_.empty(); }) && !stop.stop_requested()) {
    const std::shared_ptr<Job> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job->run();
    lock.lock();
  }
}

}  // namespace lw::net
