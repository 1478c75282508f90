// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/fields/progress.h"

#include <chrono>
#include <sys/stat.h>

#include <fmt/format.h>

#include "core/quantity.h"

namespace lw::dissect {
namespace {

Instant now() {
  return Instant{
      std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch())};
}

}  // namespace

Progress::Progress(std::string path)
    : path_(std::move(path)),
      display_({.style = report::ProgressStyle::overwrite,
                .terminal_interval = std::chrono::milliseconds(500)},
               now()) {
  struct stat status{};
  if (display_.on_terminal() && ::stat(path_.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

void Progress::show(std::uint64_t offset) {
  const Instant at = now();
  if (!display_.due(at)) return;
  display_.show(at, fmt::format("{}: {}", path_,
                                size_ > 0 ? fmt::format("{} %", 100 * offset / size_)
                                          : format_bytes(static_cast<double>(offset))));
}

}  // namespace lw::dissect
