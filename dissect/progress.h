// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace lw::dissect {

/// "FILE: 43 %" on standard error while a long file is read; nothing where that is no terminal,
/// and nothing for files that are done within half a second.
class Progress {
 public:
  explicit Progress(const std::string& path);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `offset` bytes of the file were passed. Cheap: it looks at the clock once in 16384 calls.
  void at(std::uint64_t offset) {
    if ((++calls_ & 16383) == 0 && wanted_) show(offset);
  }

 private:
  void show(std::uint64_t offset);

  std::string path_;
  bool wanted_;
  bool shown_ = false;
  std::uint64_t size_ = 0;  // 0: unknown
  std::uint64_t calls_ = 0;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace lw::dissect
