// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bitset>

#include "emulator/match/class_trie.h"
#include "emulator/match/match.h"

namespace lw::emulator {

/// What the parts of a match want of their fields, as ranges of values.

/// Numbers of `bytes` bytes; a range whose first is above its last wraps.
FieldWish wish_of(const std::vector<NumberRange>& ranges, std::size_t bytes);

/// Addresses of `bytes` bytes: 4 or 16; the other family's prefixes hold for none of them.
FieldWish wish_of(const std::vector<AddressPrefix>& prefixes, std::size_t bytes);

template <std::size_t N>
FieldWish wish_of(const std::optional<std::bitset<N>>& values) {
  FieldWish wish{.any = !values.has_value(), .ranges = {}};
  for (std::size_t i = 0; values && i < N; ++i)
    if (values->test(i)) wish.ranges.push_back({field_value(i, 1), field_value(i, 1)});
  return wish;
}

}  // namespace lw::emulator
