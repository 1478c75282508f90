// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "impair/report/report.h"

namespace lw::impair {

/// The report as one JSON object: times in ns, sizes in bytes.
nlohmann::ordered_json to_json(const Report& report);

}  // namespace lw::impair
