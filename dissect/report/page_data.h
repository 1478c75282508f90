// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "dissect/report/thin_series.h"
#include "report/json_line.h"

namespace lw::dissect {

/// A series of a page: times and values, each as its difference from the one before, which is
/// short. `of`: number of all points, with those that were left out.
report::Json series_json(const std::vector<SeriesPoint>& points, std::uint64_t of);
report::Json series_json(const ThinSeries& series);

/// Rows with the same keys, stored as the keys and the values.
class TableJson {
 public:
  void add(const report::Json& row);
  /// Returns the table, and leaves it empty. `of`: number of all rows, with those that were left
  /// out.
  report::Json finish(std::uint64_t of);

 private:
  report::Json columns_ = report::Json::array(), rows_ = report::Json::array();
};

}  // namespace lw::dissect
