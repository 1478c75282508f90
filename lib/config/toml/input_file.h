// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string>

#include "core/quantity.h"

namespace lw::config {

/// Reads a whole file of at most `most` bytes; "-" is standard input. Registers it as an input
/// (core/output.h). A pipe or a device is read as far as it goes, with waits of at most
/// kLongestWait (config/limits.h) between its bytes; standard input may take longer. Errors: the
/// file is missing, unreadable, a folder, too large, or silent; without the path in front.
Parsed<std::string> read_input_file(const std::string& path, std::size_t most);

}  // namespace lw::config
