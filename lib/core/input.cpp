// SPDX-License-Identifier: BSD-3-Clause
#include "core/input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/limits.h"
#include "core/output.h"

namespace lw {
namespace {

std::unexpected<Error> cannot_read(const std::string& path, const char* why) {
  return fail(path + ": can't be read: " + why, ExitCode::environment);
}

/// Waits for bytes. Error: none came within kLongestInputWait.
Result<void> wait_for_bytes(int descriptor, const std::string& path) {
  constexpr int kMost = std::chrono::milliseconds(kLongestInputWait).count();
  pollfd waiting{.fd = descriptor, .events = POLLIN, .revents = 0};
  const int ready = ::poll(&waiting, 1, kMost);
  if (ready > 0 || (ready < 0 && errno == EINTR)) return {};
  return fail(path + ": expected text within " + std::to_string(kLongestInputWait.count()) +
                  " s, found none",
              ExitCode::environment);
}

/// Reads to the end, or the first `most` bytes.
Result<std::string> read_part(int descriptor, const std::string& path, std::size_t most) {
  struct stat status{};
  if (descriptor < 0 || ::fstat(descriptor, &status) != 0)
    return cannot_read(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return cannot_read(path, "it is a folder");
  std::string text;
  std::array<char, 65536> piece;
  while (text.size() < most) {
    const auto got = ::read(descriptor, piece.data(), std::min(piece.size(), most - text.size()));
    if (got == 0) break;
    if (got > 0) text.append(piece.data(), static_cast<std::size_t>(got));
    if (got > 0 || errno == EINTR) continue;
    if (errno != EAGAIN) return cannot_read(path, std::strerror(errno));
    if (const auto waited = wait_for_bytes(descriptor, path); !waited)
      return std::unexpected(waited.error());
  }
  return text;
}

/// Opens a file, or standard input as "-".
int open_input(const std::string& path) {
  note_input(path);
  if (path == "-") return STDIN_FILENO;
  if (path.find('\0') != std::string::npos) {
    errno = ENOENT;
    return -1;
  }
  // Without O_NONBLOCK, opening a named pipe would wait for its writer.
  return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

}  // namespace

Descriptor::~Descriptor() {
  if (number_ > STDIN_FILENO) ::close(number_);
}

Result<std::string> read_start(const std::string& path, std::size_t most) {
  const Descriptor file(open_input(path));
  return read_part(file.get(), path, most);
}

Result<std::string> read_open_file(int descriptor, const std::string& path, std::size_t most) {
  auto text = read_part(descriptor, path, most + 1);
  if (text && text->size() > most)
    return fail(path + ": expected at most " + std::to_string(most) + " bytes, found more");
  return text;
}

Result<std::string> read_input_file(const std::string& path, std::size_t most) {
  const Descriptor file(open_input(path));
  return read_open_file(file.get(), path, most);
}

Result<std::string> read_first_line(const std::string& path, std::size_t least, std::size_t most) {
  auto text = read_start(path, most + 2);  // and its end
  if (!text) return text;
  std::string line = text->substr(0, text->find('\n'));
  if (line.ends_with('\r')) line.pop_back();
  if (line.size() < least || line.size() > most || !std::ranges::all_of(line, is_printable))
    return fail(path + ": expected a line of " + std::to_string(least) + " to " +
                std::to_string(most) + " characters, printable ASCII, found " +
                (line.size() > most ? "more" : std::to_string(line.size())));
  return line;
}

}  // namespace lw
