// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "dissect/commands/analysis_input.h"
#include "dissect/sessions/result_figures.h"
#include "report/json_line.h"

namespace lw::dissect {
namespace {

struct AnomaliesOptions {
  CaptureInput input;
  unsigned jobs = 1;
  std::vector<analysis::AnomalyKind> kinds;  // empty: all
  bool json = false, csv = false;
};

bool is_wanted(const AnomaliesOptions& options, const analysis::Anomaly& anomaly) {
  return options.kinds.empty() ||
         std::ranges::find(options.kinds, anomaly.kind) != options.kinds.end();
}

void print_anomalies(const AnomaliesOptions& options,
                     const std::vector<analysis::Anomaly>& anomalies,
                     const analysis::Analyst& analyst, const AnalysedCaptures& captures) {
  RowTimes times(options.input.time.value_or(TimeStyle::relative), captures.begin);
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           kAnomalyOutput);
  for (const analysis::Anomaly& anomaly : anomalies) {
    if (!is_wanted(options, anomaly)) continue;
    if (options.json || options.csv)
      print_out(format.line(anomaly_row(anomaly, analyst, captures.points)));
    else
      print_out(anomaly_text(anomaly, options.input.time ? times.text(anomaly.stamp) : ""));
  }
}

ExitCode run_anomalies(const AnomaliesOptions& options) {
  CollectedResults results;
  analysis::Analyst analyst(results);
  AnalysedCaptures captures;
  if (auto done = analyse_input(options.input, options.jobs, analyst, results, captures); !done)
    return print_error(done.error());
  const auto& anomalies = results.in_order();
  print_anomalies(options, anomalies, analyst, captures);
  if (anomalies.empty() && !options.json && !options.csv) print_out("no anomaly\n");
  if (results.beyond() > 0)
    print_report(fmt::format("{} further anomalies are not listed: at most {} are kept\n",
                             results.beyond(), analysis::FindingLog::kMost),
                 true);
  return captures.damage ? print_error(*captures.damage) : ExitCode::done;
}

app::OptionValue kinds_value(std::vector<analysis::AnomalyKind>& kinds) {
  const auto parse = [](std::string_view text) -> Parsed<analysis::AnomalyKind> {
    for (const auto kind : analysis::all_anomaly_kinds())
      if (analysis::name_of(kind) == text) return kind;
    std::string names;
    for (const auto kind : analysis::all_anomaly_kinds())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", analysis::name_of(kind));
    return std::unexpected(fmt::format("expected one of {}, found \"{}\"", names, text));
  };
  return app::each(parse, [&kinds](analysis::AnomalyKind kind) { kinds.push_back(kind); });
}

std::string kinds_help() {
  std::string text = "Kinds of anomalies:";
  for (const auto kind : analysis::all_anomaly_kinds())
    text += fmt::format("\n  {:<18}  {}", analysis::name_of(kind), analysis::help_of(kind));
  return text;
}

using report::Json;

}  // namespace

app::Command anomalies_command() {
  auto options = std::make_shared<AnomaliesOptions>();
  app::Command command{
      .name = "anomalies",
      .help = "List losses, retransmissions, duplicates, NAKs and their causes, with frame numbers",
      .examples = R"(roce-dissect anomalies capture.pcapng
roce-dissect anomalies capture.pcapng --kind retransmission --kind nak)",
      .notes = kinds_help(),
      .run = [options] { return run_anomalies(*options); },
  };
  add_capture_options(command.options, options->input);
  add_points_option(command.options, options->input.points);
  add_apart_option(command.options, options->input.apart);
  add_time_option(command.options, options->input.time);
  add_jobs_option(command.options, options->jobs);
  command.options.add("--kind", kinds_value(options->kinds), "KIND", "only anomalies of this kind");
  command.options.add_flag("--json", options->json, "one JSON object per anomaly");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
}

}  // namespace lw::dissect
