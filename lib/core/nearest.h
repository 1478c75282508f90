// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string_view>

namespace lw {

/// The candidate that a mistyped `word` most likely meant (edit distance, neighbouring swaps
/// counting as one); empty when none is near: more than a third of the letters wrong.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace lw
