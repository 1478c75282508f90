// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "impair/report/report.h"

namespace lw::impair {

/// Formats a report as Prometheus text: longwire_impair_* by direction, rule and port.
std::string to_prometheus(const Report& report);

/// Returns HTTP answer 404 or 405 to a request other than GET /metrics; nothing for GET /metrics.
std::optional<std::string> http_refusal(std::string_view request);
/// Returns the HTTP answer with the metrics.
std::string http_page(std::string_view metrics);
/// Returns the HTTP answer to a request that is longer than the server reads.
std::string http_too_long();

}  // namespace lw::impair
