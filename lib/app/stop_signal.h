// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>

namespace lw {

/// Handles SIGINT and SIGTERM as long as it lives; at most one object at a time. The first signal
/// sets requested(). The second sets forced() or ends the process, as chosen in the constructor.
class StopSignal {
 public:
  enum class Second { forces, ends_process };

  explicit StopSignal(Second second = Second::forces);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] const std::atomic<bool>& requested() const noexcept;
  [[nodiscard]] bool forced() const noexcept;
};

/// Installs a StopSignal for the rest of the process; a second signal ends the process.
/// Returns its requested().
const std::atomic<bool>& stop_on_signals();

}  // namespace lw
