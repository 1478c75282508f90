// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/session/contents.h"

#include <algorithm>
#include <cstring>

namespace lw::gen {

Contents::Contents(Author author, std::uint32_t size)
    : head_(std::min<std::size_t>(size, 8)), pattern_(size - head_) {
  // A linear congruential generator (Numerical Recipes); no two bytes near each other are alike
  // by rule, so that a packet in another's place is seen.
  std::uint32_t state = author == Author::client ? 1 : 2;
  for (std::byte& b : pattern_) {
    state = state * 1664525u + 1013904223u;
    b = static_cast<std::byte>(state >> 24);
  }
}

void Contents::number(wire::MutableBytes message, std::uint64_t number) const noexcept {
  for (std::size_t i = head_; i-- > 0; number >>= 8) {
    message[i] = static_cast<std::byte>(number & 0xff);
  }
}

void Contents::write(wire::MutableBytes message, std::uint64_t number) const noexcept {
  this->number(message, number);
  std::ranges::copy(pattern_, message.begin() + static_cast<std::ptrdiff_t>(head_));
}

std::uint64_t Contents::number_of(wire::Bytes message) const noexcept {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < head_; ++i)
    found = found << 8 | static_cast<std::uint8_t>(message[i]);
  return found;
}

bool Contents::holds(wire::Bytes message, std::uint64_t number, std::uint64_t step,
                     std::uint64_t most) const noexcept {
  const std::uint64_t found = number_of(message);
  const std::uint64_t mask = head_ == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << 8 * head_) - 1;
  const std::uint64_t ahead = (found - number) & mask;
  const bool numbered = ahead == 0 || (step > 0 && ahead <= most && ahead % step == 0);
  return numbered && (pattern_.empty() ||
                      std::memcmp(message.data() + head_, pattern_.data(), pattern_.size()) == 0);
}

}  // namespace lw::gen
