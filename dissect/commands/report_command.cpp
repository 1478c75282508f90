// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/analysis_input.h"
#include "dissect/report/report_data.h"
#include "report/html_page.h"

namespace lw::dissect {

/// Made of dissect/report/capture.html by lib/report/html/embed.py.
extern const report::HtmlPage kCapturePage;

namespace {

struct ReportOptions {
  CaptureInput input;
  unsigned jobs = 1;
  std::string out;
};

/// Results of the analysis of a capture, for a report.
struct ReportAnalysis {
  CollectedResults results;
  MessageCounts counts;
  MessageGroups groups;
  SessionPlots plots;
  analysis::Analyst analyst{results, &plots};
  AnalysedCaptures captures;
};

void begin_messages(ReportAnalysis& analysis) {
  analysis.results.on_message = [&analysis](const analysis::Message& message) {
    analysis.counts[{message.session, message.direction, message.operation}].add(message);
    add_to(analysis.groups, Grouping::operation, message);
    analysis.plots.completed(message);
  };
}

std::string page_of(const ReportOptions& options, ReportAnalysis& analysis) {
  const AnalysedCaptures& captures = analysis.captures;
  const Evidence evidence{analysis.analyst,       captures.points, analysis.results.in_order(),
                          captures.totals,        analysis.counts, captures.joined.get(),
                          options.input.link_rate};
  return report::html_text(kCapturePage,
                           report_json({.evidence = evidence,
                                        .plots = analysis.plots,
                                        .messages = analysis.groups,
                                        .files = options.input.files,
                                        .filter = options.input.filter,
                                        .anomalies_beyond = analysis.results.beyond()}));
}

Result<void> check_report_files(const ReportOptions& options) {
  std::vector<NamedFile> inputs;
  for (const std::string& file : options.input.files)
    inputs.push_back({"FILE", place_of(file).file});
  return check_outputs(inputs, {{"--out", options.out}});
}

ExitCode run_report(const ReportOptions& options) {
  if (const auto checked = check_report_files(options); !checked)
    return print_error(checked.error());
  ReportAnalysis analysis;
  begin_messages(analysis);
  const auto plan = plan_of(options.input, options.jobs);
  if (auto done = analyse_captures(plan, analysis.analyst, analysis.results, analysis.captures);
      !done)
    return print_error(done.error());
  const std::string page = page_of(options, analysis);
  report_at_end(write_file(options.out, page));
  const auto connections =
      std::ranges::count_if(analysis.analyst.sessions(), [](const analysis::Session& session) {
        return has_traffic(session, 0) || has_traffic(session, 1);
      });
  print_report(
      fmt::format("{}: {} in {} RoCE frames, a page of {}\n", names_of(options.input.files),
                  counted(static_cast<std::uint64_t>(connections), "connection"),
                  analysis.captures.totals.roce, format_bytes(static_cast<double>(page.size()))),
      options.out == "-");
  return analysis.captures.damage ? print_error(*analysis.captures.damage) : ExitCode::done;
}

}  // namespace

app::Command report_command() {
  auto options = std::make_shared<ReportOptions>();
  app::Command command{
      .name = "report",
      .help = "Write one web page: what happened, plots of each connection, tables",
      .examples = R"(roce-dissect report capture.pcapng -o report.html
zstd -dc capture.pcap.zst | roce-dissect report - -o report.html)",
      .notes =
          R"(The page needs no network and no other file. The plots show the worst connections, and thinned
series where a capture has too many packets; the page says of how many.)",
      .run = [options] { return run_report(*options); },
  };
  add_capture_options(command.options, options->input);
  add_points_option(command.options, options->input.points);
  add_apart_option(command.options, options->input.apart);
  add_link_rate_option(command.options, options->input.link_rate);
  add_jobs_option(command.options, options->jobs);
  command.options
      .add("-o,--out", app::text(options->out), "FILE", "file of the page, - is standard output")
      .required();
  return command;
}

}  // namespace lw::dissect
