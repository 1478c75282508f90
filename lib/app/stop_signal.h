// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <chrono>

namespace lw {

/// Handles SIGINT and SIGTERM as long as it lives; at most one object at a time. The first signal
/// sets requested(). The second one ends the process, at once or within kForcedEnd, as chosen in
/// the constructor; no work in progress can prevent this. SIGHUP, the end of the terminal, also
/// sets requested(), unless the process was started to ignore it; it may come twice, and never
/// forces.
class StopSignal {
 public:
  enum class Second {
    forces,        // sets forced(); ends the process if the object still exists after kForcedEnd
    ends_process,  // at once
  };
  static constexpr std::chrono::seconds kForcedEnd{1};

  explicit StopSignal(Second second = Second::forces);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] const std::atomic<bool>& requested() const noexcept;
  [[nodiscard]] bool forced() const noexcept;

 private:
  bool hangup_ends_;
};

/// Installs a StopSignal for the rest of the process; a second signal ends the process.
/// Returns its requested().
const std::atomic<bool>& stop_on_signals();

}  // namespace lw
