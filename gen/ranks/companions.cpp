// SPDX-License-Identifier: BSD-3-Clause
#include "gen/ranks/companions.h"

#include <random>

namespace lw::gen {

std::uint16_t new_run() {
  std::random_device random;
  return static_cast<std::uint16_t>(1 + random() % 0xffff);
}

}  // namespace lw::gen
