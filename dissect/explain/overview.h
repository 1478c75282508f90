// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "dissect/explain/evidence.h"

namespace lw::dissect {

/// What the capture holds, in sentences: its frames, its capture points, the connections of each.
std::vector<std::string> overview_of(const Evidence& evidence);

}  // namespace lw::dissect
