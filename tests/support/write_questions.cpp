// SPDX-License-Identifier: BSD-3-Clause
#include <string>
#include <string_view>
#include <utility>

#include "app/command_line.h"
#include "core/output.h"
#include "dissect/commands/outputs.h"
#include "gen/commands/outputs.h"
#include "gen/endpoint/questions.h"
#include "impair/cli/outputs.h"
#include "report/figures/json.h"

namespace {

using lw::report::Json;

Json row_of(const lw::Question& question) {
  return {{"name", question.name},   {"meaning", question.meaning},
          {"asked", question.asked}, {"limit", question.limit},
          {"where", question.where}, {"unit", lw::unit_text(question.unit)},
          {"noted", question.noted}};
}

void add_program(Json& rows, std::string_view program,
                 std::span<const lw::CommandQuestions> commands) {
  for (const lw::CommandQuestions& command : commands) {
    Json questions = Json::array();
    for (const lw::Question& each : command.questions) questions.push_back(row_of(each));
    rows.push_back({{"program", program},
                    {"command", command.command},
                    {"verdict", command.verdict},
                    {"questions", std::move(questions)}});
  }
}

}  // namespace

/// Writes the commands of all programs and what each asks of its results, for
/// tests/support/question_table.py and tests/e2e/verdicts.py: write_questions FILE.
int main(int count, char** words) {
  if (count != 2) return lw::to_int(lw::ExitCode::usage);
  Json rows = Json::array();
  add_program(rows, "roce-gen", lw::gen::questions());
  add_program(rows, "roce-endpoint", lw::gen::endpoint::questions());
  add_program(rows, "roce-impair", lw::impair::questions());
  add_program(rows, "roce-dissect", lw::dissect::questions());
  const auto written = lw::write_file(words[1], rows.dump(2) + "\n");
  return lw::to_int(written ? lw::ExitCode::done : lw::print_error(written.error()));
}
