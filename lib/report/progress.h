// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "core/time.h"

namespace lw::report {

/// How a Progress draws on a terminal. Elsewhere each update is appended.
enum class ProgressStyle : std::uint8_t {
  append,     // below the previous update
  overwrite,  // one line, over the previous update; erased at the end
  screen,     // the whole screen
};

struct ProgressConfig {
  ProgressStyle style = ProgressStyle::append;
  Duration terminal_interval{0};  // between two updates on a terminal
  Duration other_interval{0};     // between two updates elsewhere; 0: show nothing
};

/// Shows how far a program has come, on standard error. The caller passes the time; all times of
/// one display come from one clock. One thread.
class Progress {
 public:
  /// The first update is due one interval after `start`.
  explicit Progress(const ProgressConfig& config, Instant start = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  Progress(Progress&& other) noexcept;
  Progress& operator=(Progress&&) = delete;

  /// Restarts the schedule at `start`.
  void restart(Instant start) noexcept;
  /// True if standard error is a terminal.
  [[nodiscard]] bool on_terminal() const noexcept { return terminal_; }
  [[nodiscard]] bool due(Instant now) const noexcept { return now >= next_; }
  /// Prints `text` (its lines end with a newline, except with `overwrite`) and schedules the next
  /// update.
  void show(Instant now, std::string_view text);

 private:
  ProgressStyle style_;
  Duration interval_;  // 0: never due
  bool terminal_;
  bool erase_ = false;  // a line to overwrite is on the terminal
  Instant next_{};
};

}  // namespace lw::report
