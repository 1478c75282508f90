// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "app/setting_options.h"
#include "core/output.h"
#include "core/setting.h"
#include "core/struct_source.h"
#include "emulator/rule_config.h"
#include "emulator/stages/queue.h"
#include "gen/network/fabric.h"
#include "gen/perf/options/perf_options.h"
#include "perf/settings.h"
#include "report/figures/json.h"
#include "sim/job/job.h"
#include "sim/network/topology.h"
#include "sim/network/workload.h"
#include "transport/dcqcn_config.h"

namespace {

using lw::report::Json;

/// The default of a setting; "none" where it has none, as a key that is required.
std::string default_of(const lw::Figure& row, void* defaults) {
  const std::string text = lw::text_of_setting(row, defaults);
  const bool is_value = !text.empty() && lw::set_setting(row, defaults, text);
  return is_value ? text : "none";
}

/// What a setting is listed as.
using NameOf = std::string (*)(const lw::Figure& row);

std::string key_of(const lw::Figure& row) { return std::string(row.name); }

/// Lists the settings of the structs that it is asked to set, which have their defaults.
class Lister final : public lw::StructSource {
 public:
  explicit Lister(NameOf name_of) : name_of_(name_of) {}

  Json rows = Json::array();

  void object(const lw::FigureTable& table, void* defaults) override {
    for (const lw::Figure& row : table.rows) {
      if (row.name.empty()) row.write(defaults, *this);  // the rows of a struct stand in its place
      if (!row.is_setting() || row.type->shape == lw::FigureType::Shape::list) continue;
      rows.push_back({{"name", name_of_(row)},
                      {"key", row.name},
                      {"meaning", lw::help_of_setting(row)},
                      {"values", lw::values_of_setting(row)},
                      {"default", default_of(row, defaults)}});
    }
  }

 private:
  NameOf name_of_;
};

Json rows_of(const lw::FigureTable& table, void* defaults, NameOf name_of = key_of) {
  Lister lister(name_of);
  lister.object(table, defaults);
  return lister.rows;
}

/// Adds the settings of each stage of a rule.
void add_stages(Json& tables) {
  lw::emulator::RuleConfig rule;
  for (const lw::Figure& row : lw::emulator::rule_settings().rows) {
    Lister lister(key_of);
    row.write(&rule, lister);
    tables["stage_" + std::string(row.name)] = lister.rows;
  }
}

/// Adds the settings of the tables within a stage's table.
void add_queue(Json& tables) {
  using lw::emulator::PauseConfig;
  using lw::emulator::PauseThresholds;
  PauseConfig pause;
  PauseThresholds thresholds;
  Lister pauses(key_of);
  pauses.object(PauseConfig::figures(), &pause);
  pauses.object(PauseThresholds::figures(), &thresholds);
  tables["stage_queue_pfc"] = pauses.rows;
  lw::emulator::QueueClassConfig cls;
  tables["stage_queue_class"] = rows_of(lw::emulator::queue_class_settings(), &cls);
  lw::emulator::LineQueueConfig queue;
  tables["stage_queue_quantum"] = rows_of(lw::emulator::quantum_setting(), &queue);
}

/// Adds the settings of the tables of a network's file.
void add_network(Json& tables) {
  lw::sim::SwitchConfig node;
  lw::sim::CableConfig cable;
  lw::sim::Sending sending;
  lw::sim::JobConfig job;
  tables["network_fabric"] = rows_of(lw::gen::fabric_settings(), lw::gen::fabric_defaults());
  tables["network_switch"] = rows_of(lw::sim::SwitchConfig::figures(), &node);
  tables["network_link"] = rows_of(lw::sim::CableConfig::figures(), &cable);
  tables["network_workload"] = rows_of(lw::sim::Sending::workload_settings(), &sending);
  tables["network_flow"] = rows_of(lw::sim::Sending::flow_settings(), &sending);
  tables["network_job"] = rows_of(lw::sim::JobConfig::figures(), &job);
}

}  // namespace

/// Writes the settings of each described struct, for tests/support/setting_table.py:
/// write_settings FILE.
int main(int count, char** words) {
  if (count != 2) return lw::to_int(lw::ExitCode::usage);
  using lw::app::option_names;
  lw::transport::DcqcnConfig dcqcn;
  auto config = lw::gen::default_config();
  Json tables = {{"dcqcn", rows_of(lw::transport::DcqcnConfig::figures(), &dcqcn)},
                 {"qp", rows_of(lw::perf::qp_settings(), &config, option_names)},
                 {"nic", rows_of(lw::perf::nic_settings(), &config, option_names)},
                 {"nic_windows", rows_of(lw::perf::nic_windows(), &config, option_names)},
                 {"receives", rows_of(lw::perf::receive_settings(), &config, option_names)}};
  add_stages(tables);
  add_queue(tables);
  add_network(tables);
  const auto written = lw::write_file(words[1], tables.dump(2) + "\n");
  return lw::to_int(written ? lw::ExitCode::done : lw::ExitCode::failed);
}
