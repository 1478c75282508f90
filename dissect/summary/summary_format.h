// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "dissect/summary/overview.h"

namespace lw::dissect {

/// For people: a few lines, then a table each for opcodes, QPs, addresses, and what else there is.
std::string summary_text(const std::string& file, const Overview& overview);

/// The same as one JSON line.
std::string summary_json(const std::string& file, const Overview& overview);

}  // namespace lw::dissect
