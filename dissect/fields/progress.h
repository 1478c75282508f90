// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "report/progress.h"

namespace lw::dissect {

/// Shows "FILE: 43 %" on a terminal while a capture is read; nothing elsewhere, and nothing for a
/// file that takes less than half a second.
class Progress {
 public:
  explicit Progress(std::string path);

  /// `offset` bytes of the file were read. Cheap: it reads the clock once in 16384 calls.
  void at(std::uint64_t offset) {
    if ((++calls_ & 16383) == 0 && display_.on_terminal()) show(offset);
  }

 private:
  void show(std::uint64_t offset);

  std::string path_;
  report::Progress display_;
  std::uint64_t size_ = 0;  // bytes; 0: unknown
  std::uint64_t calls_ = 0;
};

}  // namespace lw::dissect
