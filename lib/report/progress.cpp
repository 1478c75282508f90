// SPDX-License-Identifier: BSD-3-Clause
#include "report/progress.h"

#include <cstdio>
#include <string>
#include <unistd.h>
#include <utility>

namespace lw::report {
namespace {

constexpr std::string_view kEraseLine = "\r\x1b[K";
constexpr std::string_view kHomeAndClear = "\x1b[H\x1b[J";

void print(std::string_view control, std::string_view text) {
  const std::string all = std::string(control).append(text);
  std::fwrite(all.data(), 1, all.size(), stderr);
  std::fflush(stderr);
}

}  // namespace

Progress::Progress(const ProgressConfig& config, Instant start)
    : style_(config.style), terminal_(isatty(STDERR_FILENO) != 0) {
  interval_ = terminal_ ? config.terminal_interval : config.other_interval;
  restart(start);
}

Progress::Progress(Progress&& other) noexcept
    : style_(other.style_),
      interval_(other.interval_),
      terminal_(other.terminal_),
      erase_(std::exchange(other.erase_, false)),
      next_(other.next_) {}

Progress::~Progress() {
  if (erase_) print(kEraseLine, {});
}

void Progress::restart(Instant start) noexcept {
  next_ = interval_ > Duration{0} ? start + interval_ : Instant::max();
}

void Progress::show(Instant now, std::string_view text) {
  restart(now);
  erase_ = terminal_ && style_ == ProgressStyle::overwrite;
  print(!terminal_ || style_ == ProgressStyle::append ? std::string_view{}
        : erase_                                      ? kEraseLine
                                                      : kHomeAndClear,
        text);
}

}  // namespace lw::report
