// SPDX-License-Identifier: BSD-3-Clause
// Runs a program's command on any bytes as its file, as main() would.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include "app/command_line.h"
#include "core/output.h"

namespace lw::fuzz {

/// A file in memory, with a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text = {}) : descriptor_(memfd_create("fuzz", 0)) {
    if (descriptor_ < 0) std::abort();
    set(text);
  }
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  void set(std::string_view text) {
    if (ftruncate(descriptor_, 0) != 0 ||
        pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
      std::abort();
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// A name with this extension for what is to be lost.
class NullFile {
 public:
  explicit NullFile(const std::string& extension)
      : path_("/tmp/longwire-fuzz-" + std::to_string(getpid()) + extension) {
    ::unlink(path_.c_str());
    if (::symlink("/dev/null", path_.c_str()) != 0) std::abort();
  }
  NullFile(const NullFile&) = delete;
  ~NullFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// A folder for files that are to be lost.
class Folder {
 public:
  Folder() : path_("/tmp/longwire-fuzz-" + std::to_string(getpid()) + "-folder") { clear(); }
  Folder(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }
  /// Removes all that is in it.
  void clear() const {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directory(path_);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// While it lives, nobody sees what is printed. Sanitizers write to the descriptor of standard
/// error, and are seen.
class Quiet {
 public:
  Quiet() : stdout_(dup(STDOUT_FILENO)), stderr_(std::exchange(stderr, null())) {
    std::fflush(stdout);
    dup2(fileno(null()), STDOUT_FILENO);
  }
  Quiet(const Quiet&) = delete;
  ~Quiet() {
    close_outputs();
    dup2(stdout_, STDOUT_FILENO);
    ::close(stdout_);
    stderr = stderr_;
  }

 private:
  static std::FILE* null() {
    static std::FILE* file = std::fopen("/dev/null", "w");
    return file;
  }
  int stdout_;
  std::FILE* stderr_;
};

using Texts = std::initializer_list<std::pair<std::string_view, std::string>>;

/// Runs a command with these arguments and options. An exit code that no command has is a failure.
inline void run(const app::Command& command, Texts texts) {
  for (const auto& [name, text] : texts) {
    const app::Option* option = command.options.find(name);
    if (option == nullptr || !option->read(text)) std::abort();
  }
  const Quiet quiet;
  const int code = to_int(command.run());
  if (code < 0 || code > 3) std::abort();
}

}  // namespace lw::fuzz
