// SPDX-License-Identifier: BSD-3-Clause
#include "emulator/match/match_wishes.h"

namespace lw::emulator {
namespace {

FieldRange range_of(const AddressPrefix& prefix) noexcept {
  FieldRange range;
  std::visit(
      [&](const auto& address) {
        for (std::size_t i = 0; i < address.bytes.size(); ++i) {
          const std::size_t fixed = prefix.length > 8 * i ? prefix.length - 8 * i : 0;
          const auto free = static_cast<std::uint8_t>(fixed >= 8 ? 0 : 0xff >> fixed);
          const auto byte = std::to_integer<std::uint8_t>(address.bytes[i]);
          range.first[i] = static_cast<std::uint8_t>(byte & ~free);
          range.last[i] = static_cast<std::uint8_t>(byte | free);
        }
      },
      prefix.address);
  return range;
}

}  // namespace

FieldWish wish_of(const std::vector<NumberRange>& ranges, std::size_t bytes) {
  FieldWish wish{.any = ranges.empty(), .ranges = {}};
  const auto add = [&](std::uint32_t first, std::uint32_t last) {
    wish.ranges.push_back({field_value(first, bytes), field_value(last, bytes)});
  };
  for (const NumberRange& range : ranges) {
    if (range.first <= range.last) {
      add(range.first, range.last);
      continue;
    }
    add(range.first, 0xffffffffu >> (32 - 8 * bytes));
    add(0, range.last);
  }
  return wish;
}

FieldWish wish_of(const std::vector<AddressPrefix>& prefixes, std::size_t bytes) {
  FieldWish wish{.any = prefixes.empty(), .ranges = {}};
  for (const AddressPrefix& prefix : prefixes) {
    const bool v4 = std::holds_alternative<wire::Ipv4Address>(prefix.address);
    if (v4 == (bytes == 4)) wish.ranges.push_back(range_of(prefix));
  }
  return wish;
}

}  // namespace lw::emulator
