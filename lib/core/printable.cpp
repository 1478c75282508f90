// SPDX-License-Identifier: BSD-3-Clause
#include "core/printable.h"

#include <algorithm>

namespace lw {

std::string printable(std::string_view text, std::size_t most) {
  std::string shown(text.substr(0, most));
  std::ranges::replace_if(shown, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text.size() > most ? shown + "..." : shown;
}

}  // namespace lw
