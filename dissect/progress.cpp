// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/progress.h"

#include <cstdio>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

constexpr std::chrono::milliseconds kInterval{500};
constexpr const char* kClearLine = "\r\033[K";

}  // namespace

Progress::Progress(const std::string& path)
    : path_(path),
      wanted_(::isatty(STDERR_FILENO) != 0),
      next_(std::chrono::steady_clock::now() + kInterval) {
  struct stat status{};
  if (wanted_ && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

Progress::~Progress() {
  if (shown_) fmt::print(stderr, "{}", kClearLine);
}

void Progress::show(std::uint64_t offset) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + kInterval;
  shown_ = true;
  if (size_ > 0) {
    fmt::print(stderr, "{}{}: {} %", kClearLine, path_, 100 * offset / size_);
  } else {
    fmt::print(stderr, "{}{}: {}", kClearLine, path_, format_bytes(static_cast<double>(offset)));
  }
}

}  // namespace lw::dissect
