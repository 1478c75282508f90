// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "config/toml/readers.h"
#include "emulator/match/match.h"

namespace lw::config {

/// Numbers and ranges of numbers in [0, maximum]: `5`, `"0x10-0x1f"`, `[1, 2, "10-20"]`; at least
/// one. `wraps`: the last may be below the first, as among PSNs.
Parsed<std::vector<emulator::NumberRange>> read_ranges(const Value& value, std::uint32_t maximum,
                                                       bool wraps);

/// read_ranges() as a reader.
inline auto ranges(std::uint32_t maximum, bool wraps = false) {
  return [=](const Value& value) { return read_ranges(value, maximum, wraps); };
}

}  // namespace lw::config
