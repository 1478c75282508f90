// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "config/toml/readers.h"

namespace lw::config {

/// An opcode as its number, 0..255, or by its name: "RC SEND FIRST", in either case, with blanks,
/// dashes or underscores.
Parsed<std::uint8_t> read_opcode(const Value& value);

}  // namespace lw::config
