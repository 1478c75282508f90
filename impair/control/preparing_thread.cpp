// SPDX-License-Identifier: BSD-3-Clause
#include "impair/control/preparing_thread.h"

#include <system_error>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "impair/limits.h"

namespace lw::impair {

PreparingThread::~PreparingThread() { close(); }

Result<void> PreparingThread::start() {
  if (thread_.joinable()) return {};
  try {
    thread_ = std::jthread([this] { work(); });
  } catch (const std::system_error& error) {
    return fail(fmt::format("no thread can be started to prepare this change: {}", error.what()),
                ExitCode::environment);
  }
  return {};
}

void PreparingThread::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void PreparingThread::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || job_; });
    if (closed_) return;
    lock.unlock();
    job_();
    lock.lock();
    job_ = nullptr;
    changed_.notify_all();
  }
}

std::unexpected<Error> PreparingThread::not_prepared(const std::exception& error) {
  return fail(
      fmt::format("this change could not be prepared ({}): nothing has changed", error.what()),
      ExitCode::failed);
}

std::unexpected<Error> PreparingThread::refusal() const {
  if (closed_) return fail("the run ends: nothing has changed", ExitCode::failed);
  return fail(fmt::format("this change, or the one before it, takes more than {} to prepare: "
                          "nothing has changed; ask for less at once",
                          kLongestPreparation),
              ExitCode::failed);
}

}  // namespace lw::impair
