// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "app/setting_options.h"
#include "core/output.h"
#include "core/setting.h"
#include "gen/perf/options/perf_options.h"
#include "perf/settings.h"
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
  if (!values.empty()) return values;
  if (!lw::quantity_of(row).empty()) return lw::quantity_of(row) == "TIME" ? "a time" : "a rate";
  return fmt::format("{} to {}", row.least, row.most);
}

/// The settings of a struct with its defaults. `name_of`: what a row is listed as.
Json rows_of(const lw::FigureTable& table, const void* defaults,
             std::string (*name_of)(const lw::Figure& row)) {
  Json rows = Json::array();
  for (const lw::Figure& row : table.rows)
    if (row.is_setting())
      rows.push_back({{"name", name_of(row)},
                      {"key", row.name},
                      {"meaning", lw::help_of_setting(row)},
                      {"values", values_of(row)},
                      {"default", lw::text_of_setting(row, defaults)}});
  return rows;
}

std::string key_of(const lw::Figure& row) { return std::string(row.name); }

}  // namespace

/// Writes the settings of each described struct, for tests/support/setting_table.py:
/// write_settings FILE.
int main(int count, char** words) {
  if (count != 2) return lw::to_int(lw::ExitCode::usage);
  using lw::app::option_names;
  const lw::transport::DcqcnConfig dcqcn;
  const auto config = lw::gen::default_config();
  const Json tables = {{"dcqcn", rows_of(lw::transport::DcqcnConfig::figures(), &dcqcn, key_of)},
                       {"qp", rows_of(lw::perf::qp_settings(), &config, option_names)},
                       {"nic", rows_of(lw::perf::nic_settings(), &config, option_names)},
                       {"nic_windows", rows_of(lw::perf::nic_windows(), &config, option_names)},
                       {"receives", rows_of(lw::perf::receive_settings(), &config, option_names)}};
  const auto written = lw::write_file(words[1], tables.dump(2) + "\n");
  return lw::to_int(written ? lw::ExitCode::done : lw::ExitCode::failed);
}
