// SPDX-License-Identifier: BSD-3-Clause
#include "dissect/report/page_data.h"

#include <utility>

namespace lw::dissect {

using report::Json;

namespace {

Json differences(const std::vector<SeriesPoint>& points, std::int64_t SeriesPoint::* member) {
  Json all = Json::array();
  std::int64_t before = 0;
  for (const SeriesPoint& point : points)
    all.push_back(point.*member - std::exchange(before, point.*member));
  return all;
}

}  // namespace

Json series_json(const std::vector<SeriesPoint>& points, std::uint64_t of) {
  Json series;
  series["t"] = differences(points, &SeriesPoint::time);
  series["y"] = differences(points, &SeriesPoint::value);
  series["of"] = of;
  return series;
}

Json series_json(const ThinSeries& series) { return series_json(series.points(), series.added()); }

void TableJson::add(const Json& row) {
  if (columns_.empty())
    for (const auto& [key, value] : row.items()) columns_.push_back(key);
  Json values = Json::array();
  for (const auto& [key, value] : row.items()) values.push_back(value);
  rows_.push_back(std::move(values));
}

Json TableJson::finish(std::uint64_t of) {
  Json table;
  table["columns"] = std::move(columns_);
  table["rows"] = std::move(rows_);
  table["of"] = of;
  return table;
}

}  // namespace lw::dissect
