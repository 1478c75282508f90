// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "impair/report/report.h"

namespace lw::impair {

/// The report as lines for people; empty counters are left out.
std::string to_text(const Report& report);

}  // namespace lw::impair
