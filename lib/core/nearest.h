// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>

namespace lw {

/// Returns the candidate with the smallest edit distance to a mistyped `word` (a swap of neighbours
/// counts as one edit); empty if more than a third of the letters differ.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lw
