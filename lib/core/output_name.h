// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "core/error.h"

namespace lw {

/// Nothing here writes compressed files, and a plain one that is named like one deceives whoever
/// reads it. Error (usage) where `path` ends in .gz, .zst, .xz, .bz2 or .lz4: it says what to do.
Result<void> check_plain_name(std::string_view path);

}  // namespace lw
