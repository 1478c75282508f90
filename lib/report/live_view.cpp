// SPDX-License-Identifier: BSD-3-Clause
#include "report/live_view.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <string_view>
#include <sys/ioctl.h>
#include <utility>

namespace lw::report {
namespace {

// The alternate buffer, an invisible cursor, and no wrapping at the right edge.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view kLeave = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kEraseLine = "\r\x1b[K";

constexpr Duration kScreenInterval = std::chrono::milliseconds(500);
constexpr Duration kLineInterval = std::chrono::seconds(1);
/// Between two looks at the terminal's size. A handler of SIGWINCH would interrupt the system calls
/// of the threads that forward frames.
constexpr auto kSizeInterval = std::chrono::milliseconds(100);

std::atomic<int> screen_file{-1};  // where the screen is; -1: there is none
static_assert(std::atomic<int>::is_always_lock_free, "required in a signal handler");

void raise_again(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

extern "C" void restore_and_end(int signal) {
  restore_terminal();
  raise_again(signal);
}

void handle(int signal, void (*handler)(int), int flags);

/// Ctrl-Z: the shell gets its screen back. The view's thread enters the screen again afterwards.
extern "C" void restore_and_suspend(int signal) {
  const int before = errno;
  restore_terminal();
  raise_again(signal);  // stops here until the process is continued
  handle(signal, restore_and_suspend, SA_NODEFER | SA_RESTART);
  errno = before;
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

/// Where nobody else handles these signals, they give the terminal back first.
constexpr std::array kFatal = {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGABRT, SIGSEGV, SIGBUS, SIGFPE};

void exchange_handler(int signal, void (*old)(int), void (*handler)(int), int flags) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == old) handle(signal, handler, flags);
}

void catch_signals() {
  for (const int signal : kFatal) exchange_handler(signal, SIG_DFL, restore_and_end, 0);
  exchange_handler(SIGTSTP, SIG_DFL, restore_and_suspend, SA_NODEFER | SA_RESTART);
}

void release_signals() {
  for (const int signal : kFatal) exchange_handler(signal, restore_and_end, SIG_DFL, 0);
  exchange_handler(SIGTSTP, restore_and_suspend, SIG_DFL, 0);
}

bool is_terminal(int file) {
  const char* term = std::getenv("TERM");
  return isatty(file) != 0 && term != nullptr && *term != 0 && std::string_view(term) != "dumb";
}

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return no_color == nullptr || *no_color == 0;
}

Duration interval_of(const LiveConfig& config, bool terminal) {
  switch (config.mode) {
    case LiveMode::none:
      return Duration{0};
    case LiveMode::brief:
      return terminal ? kLineInterval : config.elsewhere;
    case LiveMode::full:
      break;
  }
  return terminal ? kScreenInterval : kLineInterval;
}

ScreenSize size_of(int file) {
  winsize size{};
  if (ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

/// A program in the background must not draw over its shell.
bool in_background(int file) {
  const pid_t foreground = tcgetpgrp(file);
  return foreground > 0 && foreground != getpgrp();
}

}  // namespace

void restore_terminal() noexcept {
  const int file = screen_file.exchange(-1);
  if (file >= 0) static_cast<void>(!::write(file, kLeave.data(), kLeave.size()));
}

LiveView::LiveView(const LiveConfig& config)
    : config_(config),
      terminal_(is_terminal(config.file)),
      color_(wants_color()),
      interval_(interval_of(config, terminal_)) {
  if (shows()) thread_ = std::thread([this] { work(); });
}

LiveView::~LiveView() { end(); }

void LiveView::start(Instant now) noexcept {
  next_ = shows() && thread_.joinable() ? now + interval_ : Instant::max();
}

void LiveView::show(Instant now, LiveModel model) {
  start(now);
  {
    const std::scoped_lock lock(mutex_);
    waiting_ = std::move(model);
  }
  changed_.notify_one();
}

void LiveView::finish(LiveModel model) {
  if (config_.mode == LiveMode::full && thread_.joinable()) {
    const std::scoped_lock lock(mutex_);
    waiting_ = std::move(model);
  }
  end();
}

void LiveView::end() {
  next_ = Instant::max();
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

bool LiveView::unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == 0) continue;
    const std::string_view locale(value);
    return locale.contains("UTF-8") || locale.contains("utf8");
  }
  return false;
}

void LiveView::work() {
  Drawn drawn;
  for (bool ended = false; !ended;) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kSizeInterval, [this] { return waiting_.has_value() || ended_; });
    const std::optional<LiveModel> next = std::exchange(waiting_, std::nullopt);
    ended = ended_;
    lock.unlock();
    draw(next, drawn);
  }
  leave_screen();
  if (line_left_) write(kEraseLine);
}

void LiveView::draw(const std::optional<LiveModel>& next, Drawn& drawn) {
  if (on_screen()) {
    if (next) drawn.model = next;
    draw_screen(drawn, next.has_value());
  } else if (next && !terminal_) {
    write(clipped(next->line, std::string::npos) + "\n");
  } else if (next && !in_background(config_.file)) {
    line_left_ = true;
    // One column stays free: a full line would wrap.
    write(std::string(kEraseLine) + clipped(next->line, size_of(config_.file).columns - 1));
  }
}

void LiveView::draw_screen(Drawn& drawn, bool is_new) {
  if (!drawn.model || in_background(config_.file)) return;
  const ScreenSize size = size_of(config_.file);
  const bool is_there = screen_file.load() >= 0;
  if (!is_new && is_there && size == drawn.size) return;
  drawn.size = size;
  if (!is_there) {
    catch_signals();
    screen_file = config_.file;
    write(kEnter);
  }
  write(screen_bytes(*drawn.model, size, color_));
}

void LiveView::leave_screen() {
  if (!on_screen()) return;
  if (screen_file.exchange(-1) >= 0) write(kLeave);
  release_signals();
}

/// A terminal that took nothing for a second is not waited for again.
bool LiveView::writable() {
  constexpr int kStuckMs = 1000;
  pollfd file{.fd = config_.file, .events = POLLOUT, .revents = 0};
  stuck_ = poll(&file, 1, stuck_ ? 0 : kStuckMs) <= 0 || (file.revents & POLLOUT) == 0;
  return !stuck_;
}

void LiveView::write(std::string_view bytes) {
  constexpr std::size_t kAtOnce = 256;  // a terminal that is ready takes as many
  while (!bytes.empty() && writable()) {
    const ssize_t done = ::write(config_.file, bytes.data(), std::min(bytes.size(), kAtOnce));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

}  // namespace lw::report
