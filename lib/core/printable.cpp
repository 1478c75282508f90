// SPDX-License-Identifier: BSD-3-Clause
#include "core/printable.h"

#include <algorithm>

namespace lw {
namespace {

/// A character of UTF-8: its number, and how many bytes it takes. 0 bytes: these are not UTF-8.
struct Character {
  char32_t number = 0;
  std::size_t bytes = 0;
};

Character character_at(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  constexpr char32_t kLeast[] = {0x80, 0x800, 0x10000};
  if (first < 0xc0 || first > 0xf4 || text.size() < bytes) return {};
  char32_t number = first & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    number = number << 6 | (byte(i) & 0x3f);
  }
  const bool is_surrogate = number >= 0xd800 && number <= 0xdfff;
  return number < kLeast[bytes - 2] || number > 0x10ffff || is_surrogate ? Character{}
                                                                         : Character{number, bytes};
}

bool is_hidden(char32_t c) noexcept {
  struct Range {
    char32_t first, last;
  };
  // C0; DEL and C1; marks of direction; separators, embeddings and overrides; isolates; no
  // characters.
  constexpr Range kRanges[] = {{0, 0x1f},        {0x7f, 0x9f},     {0x061c, 0x061c},
                               {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
                               {0xfffe, 0xffff}};
  return std::ranges::any_of(
      kRanges, [c](const Range& range) { return c >= range.first && c <= range.last; });
}

}  // namespace

std::string visible(std::string_view text, LineEnds ends) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const Character c = character_at(text);
    const bool stays =
        c.bytes > 0 && (!is_hidden(c.number) || (c.number == '\n' && ends == LineEnds::kept));
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    shown += stays ? text.substr(0, bytes) : "?";
    text.remove_prefix(bytes);
  }
  return shown;
}

std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? shown + "..." : shown;
}

}  // namespace lw
