// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/output.h"
#include "core/setting.h"
#include "report/figures/json.h"
#include "transport/dcqcn_config.h"

namespace {

using lw::report::Json;

/// The values that a setting takes: "1 to 31", "true, false", "qp, destination, port".
std::string values_of(const lw::Figure& row) {
  if (row.type->shape == lw::FigureType::Shape::truth) return "true, false";
  std::string values;
  for (const std::string_view name : row.choices)
    values.append(values.empty() ? "" : ", ").append(name);
  return values.empty() ? fmt::format("{:g} to {:g}", row.least, row.most) : values;
}

/// The settings of a struct with its defaults.
template <class Config>
Json rows_of() {
  const Config defaults;
  Json rows = Json::array();
  for (const lw::Figure& row : Config::figures().rows)
    if (row.is_setting())
      rows.push_back({{"name", row.name},
                      {"meaning", lw::help_of_setting(row)},
                      {"values", values_of(row)},
                      {"default", lw::text_of_setting(row, &defaults)}});
  return rows;
}

}  // namespace

/// Writes the settings of each described struct, for tests/support/setting_table.py:
/// write_settings FILE.
int main(int count, char** words) {
  if (count != 2) return lw::to_int(lw::ExitCode::usage);
  const Json tables = {{"dcqcn", rows_of<lw::transport::DcqcnConfig>()}};
  const auto written = lw::write_file(words[1], tables.dump(2) + "\n");
  return lw::to_int(written ? lw::ExitCode::done : lw::ExitCode::failed);
}
