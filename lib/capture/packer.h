// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "capture/record.h"

namespace lw::capture {

/// Compresses a file piece by piece by zstd (RFC 8878), on a thread of its own where libzstd has
/// threads. Its output goes to `out`. Throws std::bad_alloc. One thread.
class Packer {
 public:
  Packer();
  Packer(Packer&&) noexcept;
  Packer& operator=(Packer&&) noexcept;
  ~Packer();

  /// Takes bytes; what is compressed by now is appended to `out`.
  void put(Bytes in, std::string& out);
  /// Waits until everything so far is compressed, so that it can be unpacked from `out`.
  void flush(std::string& out);
  /// Ends the frame. A put() afterwards begins another one.
  void end(std::string& out);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lw::capture
