// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "impair/report/report.h"

namespace lw::impair {

/// Formats a report as Prometheus text: longwire_impair_* by direction, rule and port.
std::string to_prometheus(const Report& report);

}  // namespace lw::impair
