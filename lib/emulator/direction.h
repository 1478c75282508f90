// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

namespace lw::emulator {

/// The two directions through the emulator.
enum class Direction : std::uint8_t { west_to_east, east_to_west };

constexpr std::string_view name_of(Direction direction) noexcept {
  return direction == Direction::west_to_east ? "west-to-east" : "east-to-west";
}

constexpr Direction opposite(Direction direction) noexcept {
  return direction == Direction::west_to_east ? Direction::east_to_west : Direction::west_to_east;
}

/// The directions that a part of a path belongs to.
enum class Ways : std::uint8_t { both, west_to_east, east_to_west };

constexpr bool covers(Ways ways, Direction direction) noexcept {
  return ways == Ways::both ||
         (ways == Ways::west_to_east) == (direction == Direction::west_to_east);
}

}  // namespace lw::emulator
