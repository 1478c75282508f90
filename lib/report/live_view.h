// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unistd.h>

#include "core/time.h"
#include "report/live_screen.h"

namespace lw::report {

/// Help of the option --live.
inline constexpr const char* kLiveHelp =
    "live view on standard error: one screen in a terminal, elsewhere a line per second";

enum class LiveMode : std::uint8_t {
  none,   // shows nothing
  brief,  // LiveModel::line: in a terminal over the previous one, each second; elsewhere below it
  full,   // in a terminal the whole screen, twice a second; elsewhere a line each second
};

struct LiveConfig {
  LiveMode mode = LiveMode::none;
  Duration elsewhere{0};  // LiveMode::brief: between two lines outside of a terminal; 0: no lines
  int file = STDERR_FILENO;
};

/// Shows on standard error how far a program has come. Its own thread writes: who calls show()
/// never waits for the terminal. The caller passes the time; all times of one view come from one
/// clock. One thread calls it.
///
/// The thread runs on the CPUs that its creator may use, so create the view before EAL pins the
/// creator. A screen is in the terminal's alternate buffer; what the terminal showed before is back
/// when the view ends, also when a signal ends or suspends the process. TERM=dumb, or no TERM, is
/// no terminal; with NO_COLOR there are no colours.
class LiveView {
 public:
  explicit LiveView(const LiveConfig& config);
  /// Ends the view.
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  /// The first update is due one interval after `now`.
  void start(Instant now) noexcept;
  [[nodiscard]] bool due(Instant now) const noexcept { return now >= next_; }
  /// Shows `model` and schedules the next update. It replaces a model that is not shown yet.
  void show(Instant now, LiveModel model);
  /// Shows the last figures, if `full`, and ends the view.
  void finish(LiveModel model);
  /// Ends the view; later calls do nothing.
  void end();

  /// True if there is a screen.
  [[nodiscard]] bool on_screen() const noexcept {
    return terminal_ && config_.mode == LiveMode::full;
  }
  /// True if somebody sees the view.
  [[nodiscard]] bool shows() const noexcept { return interval_ > Duration{0}; }
  /// Whether the terminal's characters are Unicode.
  [[nodiscard]] static bool unicode();

 private:
  struct Drawn {
    std::optional<LiveModel> model;
    ScreenSize size;
  };
  void work();
  void draw(const std::optional<LiveModel>& next, Drawn& drawn);
  void draw_screen(Drawn& drawn, bool is_new);
  void leave_screen();
  /// Writes all of it, unless the terminal takes nothing for so long that the view gives up.
  void write(std::string_view bytes);
  [[nodiscard]] bool writable();

  LiveConfig config_;
  bool terminal_, color_;
  Duration interval_;  // between two updates; 0: none
  Instant next_ = Instant::max();
  bool line_left_ = false;  // a line to be erased at the end
  bool stuck_ = false;      // the terminal takes nothing
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<LiveModel> waiting_;  // under mutex_, as the next
  bool ended_ = false;
  std::thread thread_;
};

/// Gives the terminal back, if there is a screen in it. Safe in a signal handler.
void restore_terminal() noexcept;

}  // namespace lw::report
