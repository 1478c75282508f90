// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "config/impair/impair_profile.h"

namespace lw::config {

inline constexpr std::string_view kNobodyGoesByIt =
    "expected a rule with delay = \"path\", whose frames go that way; found none";

/// A document as it stands, without looking ahead at what its acts bring.
Result<ImpairProfile> read_settled(Document& document);

}  // namespace lw::config
