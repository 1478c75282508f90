// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace lw::dissect {

/// Files of one folder that are written at any offset; unwritten parts are holes. Files have
/// temporary names until publish(); the destructor removes those that were not published. At most
/// kMostOpen files are open at once. After the first failure nothing more is written.
class SparseFolder {
 public:
  static constexpr std::size_t kMostOpen = 256;
  using FileId = std::uint32_t;

  /// Makes the folder if it doesn't exist. Errors (environment): it has files, unless `force`; it
  /// is not a folder, or can't be made or read.
  static Result<SparseFolder> open(const std::string& path, bool force);
  SparseFolder(SparseFolder&& other) noexcept;
  SparseFolder& operator=(SparseFolder&&) = delete;
  ~SparseFolder();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  FileId create();
  void write(FileId file, std::uint64_t offset, std::span<const std::byte> bytes);
  /// Copies [from, from + length) of one file to another.
  void copy(FileId source, std::uint64_t from, FileId target, std::uint64_t to,
            std::uint64_t length);
  void remove(FileId file);
  /// Closes a file and gives it its name. With `force` an existing file of that name is replaced,
  /// unless it is an input of this process.
  void publish(FileId file, const std::string& name);

  [[nodiscard]] bool failed() const noexcept { return failure_.has_value(); }
  /// Errors (environment): a write, close or rename failed.
  [[nodiscard]] Result<void> result() const;

 private:
  struct File {
    std::string name;  // empty: removed
    int fd = -1;
    bool published = false;
    std::list<FileId>::iterator used;  // in `open_`, where fd >= 0
  };

  SparseFolder(std::string path, int folder, bool made, bool force)
      : path_(std::move(path)), folder_(folder), made_(made), force_(force) {}
  /// Returns -1 on failure.
  int descriptor(FileId file, bool is_new = false);
  void close(FileId file);
  void fail_with(const std::string& name, int error);

  std::string path_;
  int folder_ = -1;
  bool made_, force_;
  std::vector<File> files_;
  std::list<FileId> open_;  // the last used first
  std::optional<Error> failure_;
};

}  // namespace lw::dissect
