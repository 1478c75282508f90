// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/error.h"

namespace lw::dissect {

/// Standard input, copied to a file without a name, so that it can be read more than once. The
/// folder is that of TMPDIR, or /tmp; the file is gone when this object is.
class SpooledInput {
 public:
  /// Reads standard input to its end. Errors (environment): the file cannot be made or written.
  static Result<SpooledInput> read();
  SpooledInput(SpooledInput&& other) noexcept;
  SpooledInput& operator=(SpooledInput&&) = delete;
  ~SpooledInput();

  /// Opens the copy from its start, each time.
  [[nodiscard]] std::string path() const;

 private:
  explicit SpooledInput(int file) noexcept : file_(file) {}
  int file_ = -1;
};

}  // namespace lw::dissect
