// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

#include "config/impair/profile.h"

namespace lw::config {

inline constexpr std::string_view kNoRuleUsesPath =
    "expected a rule with delay = \"path\", found none";

/// Reads a document without checking the changes that its scenario makes: `scenario` stays empty.
Result<ImpairProfile> read_static_profile(Document& document);

}  // namespace lw::config
