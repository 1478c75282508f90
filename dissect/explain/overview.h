// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "dissect/explain/facts/statement.h"

namespace lw::dissect {

/// What the capture holds, in words: the totals; how its capture points were decided; a line for
/// each of them. A sample says so first.
std::vector<std::string> overview_of(const Facts& facts);

}  // namespace lw::dissect
