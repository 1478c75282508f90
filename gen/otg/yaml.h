// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "core/error.h"

namespace lw::gen::otg {

/// Returns one YAML document as JSON. Scalars without quotes are null, booleans and numbers as in
/// JSON, all others are texts: 00:00:00:00:00:01 is no number. Errors (usage), with line and
/// column: what is not YAML, aliases, tags of other types, keys that are no texts or come twice,
/// more than one document, nesting beyond kDeepestJson (core/limits.h), mappings with more than
/// kMostMembers keys. The caller bounds the length.
Result<std::string> json_of_yaml(std::string_view text);

}  // namespace lw::gen::otg
