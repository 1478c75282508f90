// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"

namespace lw::gen::otg {

/// Reads the body of a request. Errors (usage): text that is not JSON, or is nested too deeply (see
/// parse_json()); an object with more than kMostMembers members, as the time to read one grows with
/// their square: 17 s for one of 1 MiB. The caller bounds the length.
Result<nlohmann::ordered_json> read_body(std::string_view text);

}  // namespace lw::gen::otg
