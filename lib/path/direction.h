// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace lw::path {

/// The two ways through a bump in the wire.
enum class Direction : std::uint8_t { west_to_east, east_to_west };

constexpr std::string_view name_of(Direction direction) noexcept {
  return direction == Direction::west_to_east ? "west-to-east" : "east-to-west";
}

}  // namespace lw::path
