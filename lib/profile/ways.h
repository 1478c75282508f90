// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "path/direction.h"
#include "profile/table.h"

namespace lw::profile {

/// Reads `direction`: "both" (also when it is absent), "west-to-east" or "east-to-west".
inline path::Ways read_direction(const Table& table) {
  static constexpr Choice<path::Ways> kWays[] = {{"both", path::Ways::both},
                                                 {"west-to-east", path::Ways::west_to_east},
                                                 {"east-to-west", path::Ways::east_to_west}};
  return table.get_or("direction", choice(kWays), path::Ways::both);
}

}  // namespace lw::profile
