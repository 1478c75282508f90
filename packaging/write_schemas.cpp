// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <vector>

#include "app/command_line.h"
#include "dissect/commands/outputs.h"
#include "gen/commands/outputs.h"
#include "gen/endpoint/commands.h"
#include "impair/cli/outputs.h"
#include "report/figures/schema.h"

/// Writes the JSON Schemas of all outputs: write_schemas FOLDER/NAME.json... Run by meson.
int main(int count, char** words) {
  std::vector<lw::JsonOutput> outputs;
  for (const auto& program : {lw::dissect::outputs(), lw::gen::outputs(), lw::impair::outputs()})
    outputs.insert(outputs.end(), program.begin(), program.end());
  outputs.push_back(lw::gen::endpoint::kServeOutput);
  const std::vector<std::string> paths(words + 1, words + count);
  const auto written = lw::report::write_schemas(outputs, paths);
  return lw::to_int(written ? lw::ExitCode::done : lw::print_error(written.error()));
}
