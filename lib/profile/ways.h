// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "profile/table.h"

namespace lw::profile {

/// Which ways through the box something is for.
struct Ways {
  bool west_to_east = true, east_to_west = true;
};

/// Reads `direction`: "both" (also when it is absent), "west-to-east" or "east-to-west".
inline Ways read_direction(const Table& table) {
  static constexpr Choice<Ways> kWays[] = {
      {"both", {true, true}}, {"west-to-east", {true, false}}, {"east-to-west", {false, true}}};
  return table.get_or("direction", choice(kWays), {});
}

}  // namespace lw::profile
