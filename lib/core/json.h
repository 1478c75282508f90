// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace lw {

/// Parses JSON that came from a file, a peer or a user. Returns a discarded value (is_discarded(),
/// neither an object nor an array) for any other text, and where arrays and objects are nested
/// deeper than kDeepestJson (core/limits.h): handling those would need a deep stack. The caller
/// bounds the length of the text.
nlohmann::ordered_json parse_json(std::string_view text);

}  // namespace lw
