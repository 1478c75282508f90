// SPDX-License-Identifier: BSD-3-Clause
#include "core/names.h"

#include <algorithm>
#include <vector>

#include "core/limits.h"
#include "core/printable.h"

namespace lw {
namespace {

/// Optimal string alignment distance: insertion, deletion, substitution and swap of neighbours
/// count as one each.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

/// Returns the length in bytes of the UTF-8 character whose first byte is `first`; 0 if no
/// character begins with it.
std::size_t utf8_length(unsigned char first) noexcept {
  if (first >= 0x20 && first < 0x7f) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

struct Compression {
  std::string_view suffix, program;
};

constexpr Compression kCompressions[] = {
    {".gz", "gzip"}, {".zst", "zstd"}, {".xz", "xz"}, {".bz2", "bzip2"}, {".lz4", "lz4"}};

/// Returns the last start of a UTF-8 character at or before `at`.
std::size_t character_start(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (text[at] & 0xc0) == 0x80) --at;
  return at;
}

}  // namespace

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongestWord = 64;
  if (word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, (word.size() + 2) / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(word, candidate);
    if (d < best_distance) {
      best = candidate;
      best_distance = d;
    }
  }
  return best;
}

std::string first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = utf8_length(first);
  const std::string_view rest = text.substr(1, length == 0 ? 0 : length - 1);
  const bool whole = rest.size() + 1 == length &&
                     std::ranges::all_of(rest, [](char c) { return (c & 0xc0) == 0x80; });
  if (whole) return std::string(text.substr(0, length));
  constexpr std::string_view kDigits = "0123456789abcdef";
  return std::string("\\x") + kDigits[first >> 4] + kDigits[first & 0xf];
}

std::string excerpt(std::string_view text) {
  const std::size_t length = character_start(text, std::min(text.size(), kLongestQuote));
  const std::string start = visible(text.substr(0, length));
  return length < text.size() ? start + "..." : start;
}

std::string bounded_message(std::string message) {
  constexpr std::string_view kCut = "...";
  if (message.size() > kLongestMessage) {
    constexpr std::size_t kPart = kLongestMessage / 2 - kCut.size();
    const std::size_t start = character_start(message, kPart);
    const std::size_t end = character_start(message, message.size() - kPart);
    message.replace(start, end - start, kCut);
  }
  return visible(message);
}

Result<void> check_file_name(std::string_view path, bool packs) {
  return packs && path.ends_with(".zst") ? check_plain_name(path.substr(0, path.size() - 4))
                                         : check_plain_name(path);
}

Result<void> check_plain_name(std::string_view path) {
  if (const auto nul = path.find('\0'); nul != std::string_view::npos)
    return fail(std::string(path.substr(0, nul)) +
                ": expected the name of a file, found a NUL character after this");
  for (const auto& [suffix, program] : kCompressions) {
    if (!path.ends_with(suffix)) continue;
    const std::string plain(path.substr(0, path.size() - suffix.size()));
    return fail(std::string(path) + ": files are written plain, not compressed: name it " + plain +
                ", then run `" + std::string(program) + " " + plain + "`");
  }
  return {};
}

}  // namespace lw
