// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>

#include "core/error.h"

namespace lw {

/// Returns the candidate with the smallest edit distance to a mistyped `word` (a swap of neighbours
/// counts as one edit); empty if more than a third of the letters differ.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// Checks that the name of an output file doesn't promise compression, since all files are written
/// uncompressed. Error (usage), with the remedy: `path` ends in .gz, .zst, .xz, .bz2 or .lz4.
Result<void> check_plain_name(std::string_view path);

}  // namespace lw
