// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <tuple>

#include "perf/result.h"

namespace lw::sim {

/// The requests that failed, of hosts that run on several threads.
class Failures {
 public:
  void add(const perf::Failure& failure) {
    const auto place = [](const perf::Failure& of) { return std::tuple(of.at, of.host, of.qp); };
    const std::lock_guard lock(mutex_);
    ++count_;
    if (!first_ || place(failure) < place(*first_)) first_ = failure;
  }
  // While no thread adds any:
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The earliest; of those of one time, that of the least host and QP, and of these the first.
  [[nodiscard]] const std::optional<perf::Failure>& first() const noexcept { return first_; }

 private:
  std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::optional<perf::Failure> first_;
};

}  // namespace lw::sim
