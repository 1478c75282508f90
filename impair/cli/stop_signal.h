// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

namespace lw::impair {

/// SIGINT and SIGTERM ask for a stop: the first drains what is in flight, a second doesn't wait.
/// One a process, for as long as it lives.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] const std::atomic<bool>& asked() const noexcept;
  [[nodiscard]] bool insisted() const noexcept;
};

}  // namespace lw::impair
