// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "capture/record.h"
#include "core/error.h"

namespace lw::capture {

/// How a file is read.
struct Reading {
  /// If not null, the file may grow: at the end of a regular file, reading waits until this becomes
  /// true.
  const std::atomic<bool>* follow_until = nullptr;
};

/// A file, standard input or memory, read once from front to back. .gz and .zst files are
/// recognised by their first bytes and unpacked; bytes and offsets are those of the unpacked file.
/// Memory use grows with the bytes that exist, so a damaged length field costs nothing. One thread.
class Source {
 public:
  /// "-" is standard input. Errors: there is no such file (usage); others (environment).
  static Result<Source> open(const std::string& path, const Reading& reading = {});
  /// Reads `bytes`, which must outlive the source; not copied unless they are compressed.
  static Source of_memory(Bytes bytes);

  Source(Source&&) noexcept;
  Source& operator=(Source&&) noexcept;
  ~Source();

  /// Returns the next bytes, contiguous: at least `n`, or all that remain. Valid until the next
  /// peek().
  [[nodiscard]] Bytes peek(std::size_t n) {
    if (end_ - begin_ < n) fill(n);
    return {data_ + begin_, end_ - begin_};
  }
  /// The next bytes that are in memory already. Valid until the next peek().
  [[nodiscard]] Bytes buffered() const noexcept { return {data_ + begin_, end_ - begin_}; }
  /// Skips `n` bytes, at most those of the last peek() or buffered().
  void skip(std::size_t n) noexcept { begin_ += n; }

  /// Offset of the next byte in the unpacked file.
  [[nodiscard]] std::uint64_t offset() const noexcept { return passed_ + begin_; }
  /// Number of bytes read from the file, packed or not.
  [[nodiscard]] std::uint64_t file_offset() const noexcept { return file_offset_; }
  [[nodiscard]] bool is_packed() const noexcept { return packed_ != nullptr; }
  /// "stdin" for "-".
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// The error that stopped reading before the end of the file, if any: "cannot be read: ...".
  [[nodiscard]] const std::optional<Error>& read_error() const noexcept { return error_; }
  /// Returns true if reading ended because Reading::follow_until became true.
  [[nodiscard]] bool stopped() const noexcept { return stopped_; }

 private:
  struct Packed;

  Source();
  void detect_compression();
  void fill(std::size_t n);
  bool grow_buffer();
  std::size_t read_file(std::span<std::byte> into);
  bool wait_for_more();
  std::size_t unpack(std::span<std::byte> into);
  void stop_unpacking(std::string_view problem);
  void close() noexcept;

  std::string name_;
  int fd_ = -1;
  const std::atomic<bool>* follow_until_ = nullptr;
  std::unique_ptr<Packed> packed_;  // null if the file is not compressed
  std::uint64_t file_offset_ = 0;
  bool at_end_ = true;
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t capacity_ = 0;
  const std::byte* data_ = nullptr;  // buffer_, or the memory of of_memory()
  std::size_t begin_ = 0, end_ = 0;  // the part of data_ that was read but not skipped
  std::uint64_t passed_ = 0;         // file offset of data_
  std::optional<Error> error_;
  bool stopped_ = false;
};

/// Returns an error with exit code 1: "FILE: offset N: `what`", where N is the offset of the next
/// byte; for a compressed file, "offset N of the unpacked file".
std::unexpected<Error> damaged(const Source& source, std::string_view what);

/// Returns the error for a file that ends, or can't be read, within `what`, which needs `needed`
/// bytes.
std::unexpected<Error> cut(const Source& source, std::string_view what, std::uint64_t needed,
                           std::size_t found);

/// Reads an unsigned T at `offset` of a capture. `swap`: the file has the other byte order than
/// this machine. Requires offset + sizeof(T) <= bytes.size().
template <class T>
[[nodiscard]] T load(Bytes bytes, std::size_t offset, bool swap) noexcept {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  if (!swap) return value;
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
}

}  // namespace lw::capture
