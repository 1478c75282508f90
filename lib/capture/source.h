// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "capture/record.h"
#include "core/error.h"

namespace lw::capture {

/// A file, standard input or memory, read once from front to back. Memory grows with what was
/// really read, so a damaged length field costs nothing. One thread.
class Source {
 public:
  /// "-" is standard input. Errors: usage where there is no such file, environment otherwise.
  static Result<Source> open(const std::string& path);
  /// Reads `bytes` in place; they must outlive it.
  static Source of_memory(Bytes bytes) noexcept;

  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  /// The next bytes, contiguous: at least `n`, or all that are left. Valid until the next peek().
  [[nodiscard]] Bytes peek(std::size_t n) {
    if (end_ - begin_ < n) fill(n);
    return {data_ + begin_, end_ - begin_};
  }
  /// Moves on by `n` bytes that were peeked.
  void skip(std::size_t n) noexcept { begin_ += n; }

  /// Of the next byte, from the start of the file.
  [[nodiscard]] std::uint64_t offset() const noexcept { return passed_ + begin_; }
  /// "stdin" for "-".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Why reading stopped before the end of the file, if it did.
  [[nodiscard]] const std::optional<std::string>& read_error() const noexcept { return error_; }

 private:
  Source() = default;
  void fill(std::size_t n);
  void make_room();
  void close() noexcept;

  std::string name_;
  int fd_ = -1;
  bool at_end_ = true;  // nothing more can be read
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t capacity_ = 0;
  const std::byte* data_ = nullptr;  // the buffer, or somebody's memory
  std::size_t begin_ = 0, end_ = 0;  // what of it was read and not yet passed
  std::uint64_t passed_ = 0;         // file offset of data_
  std::optional<std::string> error_;
};

}  // namespace lw::capture
