// SPDX-License-Identifier: BSD-3-Clause
#include "config/toml/input_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "config/limits.h"
#include "core/output.h"

namespace lw::config {
namespace {

/// An open file; does not close standard input.
class InputDescriptor {
 public:
  explicit InputDescriptor(int descriptor) noexcept : descriptor_(descriptor) {}
  InputDescriptor(const InputDescriptor&) = delete;
  InputDescriptor& operator=(const InputDescriptor&) = delete;
  ~InputDescriptor() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }
  [[nodiscard]] int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

std::unexpected<std::string> cannot_read(const char* why) {
  return std::unexpected(fmt::format("can't be read: {}", why));
}

/// Waits for bytes. Error: none came within kLongestWait.
Parsed<void> wait_for_bytes(int descriptor) {
  constexpr int kMost = std::chrono::milliseconds(kLongestWait).count();
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&waiting, 1, kMost);
  if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
  return std::unexpected(
      fmt::format("expected text within {} s, found none", kLongestWait.count()));
}

Parsed<std::string> read_all(int descriptor, std::size_t most) {
  std::string text;
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t got = ::read(descriptor, piece.data(), piece.size());
    if (got == 0) return text;
    if (got > 0) {
      text.append(piece.data(), static_cast<std::size_t>(got));
      // A device such as /dev/zero never ends.
      if (text.size() <= most) continue;
      return std::unexpected(
          fmt::format("expected at most {} MiB, found a larger file", most >> 20));
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return cannot_read(std::strerror(errno));
    if (const auto waited = wait_for_bytes(descriptor); !waited)
      return std::unexpected(waited.error());
  }
}

}  // namespace

Parsed<std::string> read_input_file(const std::string& path, std::size_t most) {
  note_input(path);
  if (path == "-") return read_all(STDIN_FILENO, most);
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  const InputDescriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return cannot_read(std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return cannot_read("it is a folder");
  return read_all(file.get(), most);
}

}  // namespace lw::config
