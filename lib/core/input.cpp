// SPDX-License-Identifier: BSD-3-Clause
#include "core/input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "core/output.h"

namespace lw {
namespace {

/// Reads at most `most` bytes.
Result<std::string> read_part(const std::string& path, std::size_t most) {
  note_input(path);
  if (path.find('\0') != std::string::npos) return fail("a file's name with NUL in it");
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::array<char, 4096> piece;
  while (file && text.size() < most) {
    const std::size_t count = std::min(piece.size(), most - text.size());
    file.read(piece.data(), static_cast<std::streamsize>(count));
    text.append(piece.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (!file.is_open() || file.bad())
    return fail(path + ": can't be read: " + std::strerror(errno), ExitCode::environment);
  return text;
}

bool is_printable(char c) noexcept { return c >= ' ' && c <= '~'; }

}  // namespace

Result<std::string> read_bounded(const std::string& path, std::size_t most) {
  auto text = read_part(path, most + 1);
  if (text && text->size() > most)
    return fail(path + ": expected at most " + std::to_string(most) + " bytes, found more");
  return text;
}

Result<std::string> read_first_line(const std::string& path, std::size_t least, std::size_t most) {
  auto text = read_part(path, most + 2);  // and its end
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
