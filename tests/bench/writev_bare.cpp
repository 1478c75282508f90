// SPDX-License-Identifier: BSD-3-Clause
// The least that writing a capture can cost: writes the bytes of a file again and again with
// writev() into another one. No code of the project is in it.
//
//   writev_bare IN OUT BYTES PIECE
//
// At most 64 MiB of IN are read before the start, and BYTES are written, in pieces of PIECE bytes,
// as many as one writev() takes. Prints a line of JSON: the rate, also in
// relation to the CPU time.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <sys/uio.h>
#include <unistd.h>
#include <vector>

#include <climits>

namespace {

constexpr std::size_t kMost = std::size_t{64} << 20;

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "writev_bare: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

std::uint64_t number_from(std::string_view text) {
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{} || !value) {
    std::fprintf(stderr, "writev_bare: expected a number, found %s\n", text.data());
    std::exit(2);
  }
  return value;
}

std::vector<char> start_of(const char* path) {
  std::vector<char> bytes(kMost);
  const int file = open(path, O_RDONLY);
  std::size_t size = 0;
  for (ssize_t count = 1; count > 0 && size < bytes.size(); size += static_cast<std::size_t>(count))
    if (count = read(file, bytes.data() + size, bytes.size() - size); count < 0) give_up(path);
  close(file);
  bytes.resize(size);
  if (bytes.empty()) give_up("an empty file");
  return bytes;
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fputs("usage: writev_bare IN OUT BYTES PIECE\n", stderr);
    return 2;
  }
  std::vector<char> bytes = start_of(words[1]);
  const std::uint64_t all = number_from(words[3]);
  const std::size_t piece = number_from(words[4]);
  std::vector<iovec> pieces;
  for (std::size_t at = 0; at < bytes.size(); at += piece)
    pieces.push_back({bytes.data() + at, std::min(piece, bytes.size() - at)});
  const int file = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (file < 0) give_up(words[2]);
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t core_begin = std::clock();
  std::uint64_t written = 0;
  for (std::size_t at = 0; written < all; at = at < pieces.size() ? at : 0) {
    const std::size_t some = std::min<std::size_t>(pieces.size() - at, IOV_MAX);
    std::size_t size = 0;
    for (std::size_t i = at; i < at + some; ++i) size += pieces[i].iov_len;
    if (writev(file, &pieces[at], static_cast<int>(some)) != static_cast<ssize_t>(size))
      give_up(words[2]);
    written += size;
    at += some;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const double core = static_cast<double>(std::clock() - core_begin) / CLOCKS_PER_SEC;
  std::printf("{\"bytes_per_s\":%.0f,\"bytes_per_core_s\":%.0f}\n",
              static_cast<double>(written) / took.count(), static_cast<double>(written) / core);
  return 0;
}
