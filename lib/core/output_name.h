// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "core/error.h"

namespace lw {

/// Checks that the name of an output file doesn't promise compression, since all files are written
/// uncompressed. Error (usage), with the remedy: `path` ends in .gz, .zst, .xz, .bz2 or .lz4.
Result<void> check_plain_name(std::string_view path);

}  // namespace lw
