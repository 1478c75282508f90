// SPDX-License-Identifier: BSD-3-Clause
#include "core/time.h"

#include <fstream>

#include "core/chance.h"

namespace lw {

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

std::uint8_t steady_clock_number(std::uint8_t first, std::string_view boot) noexcept {
  return static_cast<std::uint8_t>(first + hash_name(boot) % (256u - first));
}

}  // namespace lw
