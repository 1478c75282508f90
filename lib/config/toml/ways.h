// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/toml/table.h"
#include "emulator/direction.h"

namespace lw::config {

/// Reads `direction`: "both" (also when it is absent), "west-to-east" or "east-to-west".
inline emulator::Ways read_direction(const Table& table) {
  static constexpr Choice<emulator::Ways> kWays[] = {
      {"both", emulator::Ways::both},
      {"west-to-east", emulator::Ways::west_to_east},
      {"east-to-west", emulator::Ways::east_to_west}};
  return table.get_or("direction", choice(kWays), emulator::Ways::both);
}

}  // namespace lw::config
