// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lw {

/// "packet" for 1, "packets" for 3; "switches" for 2.
inline std::string noun_for(std::uint64_t count, std::string_view noun) {
  return fmt::format("{}{}", noun, count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

/// "1 packet", "3 packets".
inline std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}", count, noun_for(count, noun));
}

/// "1 READ or atomic", "3 READs and atomics".
inline std::string counted_fetches(std::uint64_t count) {
  return count == 1 ? "1 READ or atomic" : fmt::format("{} READs and atomics", count);
}

}  // namespace lw
