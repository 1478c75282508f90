// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report.h"

#include <algorithm>

namespace lw::impair {

Spread spread_of(const Histogram& histogram) {
  return {histogram.count(),        histogram.minimum(),       histogram.quantile(0.5),
          histogram.quantile(0.99), histogram.quantile(0.999), histogram.maximum()};
}

bool Report::holds() const noexcept {
  return std::ranges::all_of(directions, [](const DirectionReport& d) { return d.books.holds(); });
}

}  // namespace lw::impair
