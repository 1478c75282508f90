// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "core/error.h"

namespace lw {

/// Reads a whole file of at most `most` bytes, and no more than that of a longer one; "-" is
/// standard input. Registers it as an input (core/output.h). A pipe or a device is read as far as
/// it goes, with waits of at most kLongestInputWait (core/limits.h) between its bytes; standard
/// input may take longer. Errors start with the path: it can't be read, is a folder, or silent
/// (environment); it is longer (usage).
Result<std::string> read_input_file(const std::string& path, std::size_t most);

/// Reads the first `most` bytes of a file like read_input_file(), without an error where it is
/// longer.
Result<std::string> read_start(const std::string& path, std::size_t most);

/// Reads an open file like read_input_file(), which does not close it; `path` is its name in
/// errors.
Result<std::string> read_open_file(int descriptor, const std::string& path, std::size_t most);

/// Reads the first line of a file, without its end (LF or CR LF), of `least` to `most` printable
/// ASCII characters. Reads no more than that line may have. Errors: the file can't be read
/// (environment); another line (usage).
Result<std::string> read_first_line(const std::string& path, std::size_t least, std::size_t most);

/// A file descriptor, closed with its owner; negative: none. Standard input stays open.
class Descriptor {
 public:
  explicit Descriptor(int number) noexcept : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor();
  [[nodiscard]] int get() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace lw
