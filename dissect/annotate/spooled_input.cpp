// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/annotate/spooled_input.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace lw::dissect {
namespace {

std::unexpected<Error> spool_error(const std::string& folder) {
  return fail(
      fmt::format("a copy of standard input in {}: {}; set TMPDIR to a folder with room for it",
                  folder, std::strerror(errno)),
      ExitCode::environment);
}

bool write_all(int file, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// Copies standard input to `file`; false: errno says why not.
bool copy_input(int file) {
  std::vector<char> buffer(std::size_t{1} << 20);
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got == 0;
    if (!write_all(file, std::span(buffer).first(static_cast<std::size_t>(got)))) return false;
  }
}

}  // namespace

Result<SpooledInput> SpooledInput::read() {
  std::error_code error;
  const auto folder = std::filesystem::temp_directory_path(error);
  const std::string place = error ? "/tmp" : folder.string();
  std::string name = place + "/longwire-input-XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) return spool_error(place);
  ::unlink(name.c_str());
  SpooledInput spooled(file);
  if (!copy_input(file)) return spool_error(place);
  return spooled;
}

SpooledInput::SpooledInput(SpooledInput&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

SpooledInput::~SpooledInput() {
  if (file_ >= 0) ::close(file_);
}

std::string SpooledInput::path() const { return fmt::format("/proc/self/fd/{}", file_); }

}  // namespace lw::dissect
