// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "impair/report/report.h"

namespace lw::impair {

/// A report as Prometheus' text: longwire_impair_* by direction, rule and port.
std::string to_prometheus(const Report& report);

/// Answers an HTTP request: `metrics` for GET /metrics, and 404 or 405 for what isn't that.
std::string http_answer(std::string_view request, const std::string& metrics);

}  // namespace lw::impair
