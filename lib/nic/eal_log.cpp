// SPDX-License-Identifier: BSD-3-Clause
#include "nic/eal_log.h"

#include <string_view>

#include <rte_log.h>

namespace lw::nic {

EalLog& EalLog::open(bool pass_on) {
  static EalLog* const log = [] {
    auto* made = new EalLog;
    std::FILE* stream = fopencookie(made, "w", {nullptr, &EalLog::write, nullptr, nullptr});
    if (stream) {
      std::setvbuf(stream, nullptr, _IONBF, 0);
      rte_openlog_stream(stream);
    }
    return made;
  }();
  log->pass_on_ = pass_on;
  return *log;
}

/// fopencookie's write.
ssize_t EalLog::write(void* cookie, const char* data, std::size_t size) {
  auto& log = *static_cast<EalLog*>(cookie);
  const std::lock_guard lock(log.mutex_);
  if (log.pass_on_) std::fwrite(data, 1, size, stderr);
  log.text_.append(data, size);
  if (log.text_.size() > kKept) log.text_.erase(0, log.text_.size() - kKept);
  return static_cast<ssize_t>(size);
}

void EalLog::forget() {
  const std::lock_guard lock(mutex_);
  text_.clear();
}

std::string EalLog::said() const {
  const std::lock_guard lock(mutex_);
  std::string indented;
  std::string_view rest = text_;
  while (!rest.empty()) {
    const auto end = rest.find('\n');
    indented += "\n  ";
    indented += rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return indented;
}

}  // namespace lw::nic
