// SPDX-License-Identifier: BSD-3-Clause
#include "gen/perf/options/nic_profile.h"

#include "config/nic/nic_profile.h"
#include "core/setting.h"
#include "gen/perf/options/perf_options.h"
#include "perf/settings.h"

namespace lw::gen {
namespace {

/// Sets the rows in which `profile` differs from the defaults and `config` does not.
void merge(const FigureTable& table, const void* defaults, const void* profile, void* config) {
  for (const Figure& row : table.rows) {
    if (!row.is_setting()) continue;
    const std::string usual = text_of_setting(row, defaults);
    const std::string text = text_of_setting(row, profile);
    if (text != usual && text_of_setting(row, config) == usual)
      (void)set_setting(row, config, text);  // its own text is within its bounds
  }
}

}  // namespace

Result<void> apply_nic_profile(const std::string& name, perf::PerfConfig& config) {
  const perf::PerfConfig defaults = default_config();
  perf::PerfConfig profile = defaults;
  const FigureTable& congestion = transport::DcqcnConfig::figures();
  const config::NicTable tables[] = {{perf::nic_windows(), &profile},
                                     {perf::nic_settings(), &profile}};
  const auto loaded = config::load_nic_profile(name, tables, {congestion, &profile.qp.dcqcn});
  if (!loaded) return std::unexpected(loaded.error());
  for (const config::NicTable& table : tables) merge(table.rows, &defaults, &profile, &config);
  merge(congestion, &defaults.qp.dcqcn, &profile.qp.dcqcn, &config.qp.dcqcn);
  return {};
}

}  // namespace lw::gen
