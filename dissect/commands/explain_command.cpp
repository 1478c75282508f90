// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "app/invocation.h"
#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/analysis_input.h"
#include "dissect/commands/outputs.h"
#include "dissect/explain/explanation_text.h"
#include "dissect/fields/condition.h"
#include "dissect/sessions/result_rows.h"
#include "report/figures/json.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

struct ExplainOptions {
  CaptureInput input;
  unsigned jobs = 1;
  std::vector<std::string> counters;  // two files: before, after
  std::string port_address;
  TimeStyle time = TimeStyle::relative;
  bool json = false;
};

// explain: JSON.

struct PrintedStatement {
  const ExplainOptions& options;
  const Statement& statement;

  static const FigureTable& figures() {
    using Row = FigureOf<PrintedStatement>;
    static constexpr Figure kRows[] = {
        Row::with_table<[](const PrintedStatement& s) -> const auto& { return s.statement; },
                        Statement::figures>(),
        Row::of<[](const PrintedStatement& s) {
          return evidence_command(s.options.input, s.statement.show);
        }>("command", "Command that lists the evidence.")};
    static constexpr FigureTable kTable{{}, kRows};
    return kTable;
  }
};

/// What `explain` prints as JSON.
struct PrintedExplanation {
  const ExplainOptions& options;
  const Explanation& explanation;
  const CaptureTotals& totals;
  const std::vector<CapturePointInfo>& points;
  const std::vector<CounterReport>& counters;

  [[nodiscard]] std::vector<PrintedStatement> statements() const {
    std::vector<PrintedStatement> printed;
    for (const Statement& statement : explanation.statements)
      printed.push_back({options, statement});
    return printed;
  }
};

// explain: the command.

/// The differences of the two files; nothing without --counters.
Result<std::optional<CounterDifferences>> read_counters(const ExplainOptions& options) {
  if (options.counters.empty()) return std::nullopt;
  auto before = read_port_counters(options.counters[0]);
  if (!before) return std::unexpected(before.error());
  auto after = read_port_counters(options.counters[1]);
  if (!after) return std::unexpected(after.error());
  return differences_of(*before, *after);
}

std::string printed(const ExplainOptions& options, const Evidence& evidence,
                    const Explanation& explanation, const std::vector<CounterReport>& counters) {
  if (options.json)
    return report::json_line(kExplanationOutput,
                             PrintedExplanation{options, explanation, evidence.totals,
                                                evidence.points.points(), counters});
  std::string text;
  if (!options.input.files.empty())
    text = names_of(options.input.files) + "\n" +
           explanation_text(explanation, [&options](const std::string& show) {
             return evidence_command(options.input, show);
           });
  for (const CounterReport& report : counters) text += counters_text(report);
  return text;
}

/// Formats the analysis of the capture. Error: that of the counters' comparison.
Result<std::string> report_of(const ExplainOptions& options, const Evidence& evidence,
                              const std::optional<CounterDifferences>& differences) {
  std::vector<CounterReport> counters;
  if (differences) {
    auto compared = compare_counters(*differences, evidence, options.port_address);
    if (!compared) return std::unexpected(compared.error());
    counters.push_back(std::move(*compared));
  }
  return printed(options, evidence, explain(evidence, counters.empty() ? nullptr : &counters[0]),
                 counters);
}

/// What the counters say without a capture.
ExitCode explain_counters(const ExplainOptions& options, const CounterDifferences& differences) {
  CollectedResults results;
  const analysis::Analyst analyst(results);
  const CapturePoints points;
  const CaptureTotals totals;
  const MessageCounts messages;
  Explanation nothing;
  nothing.followed = Followed::nothing;
  print_out(printed(options, {analyst, points, {}, totals, messages, nullptr}, nothing,
                    read_counters_alone(differences)));
  return ExitCode::done;
}

ExitCode run_explain(const ExplainOptions& options) {
  const auto counters = read_counters(options);
  if (!counters) return print_error(counters.error());
  if (options.input.files.empty()) return explain_counters(options, **counters);
  CollectedResults results;
  MessageCounts messages;
  results.on_message = [&](const analysis::Message& message) {
    messages[{message.session, message.direction, message.operation}].add(message);
  };
  analysis::Analyst analyst(results);
  AnalysedCaptures captures;
  const auto plan = plan_of(options.input, options.jobs);
  if (auto done = analyse_captures(plan, analyst, results, captures); !done)
    return print_error(done.error());
  const auto text =
      report_of(options,
                {analyst, captures.points, results.in_order(), captures.totals, messages,
                 captures.joined.get(), options.input.link_rate, options.time},
                *counters);
  if (!text) return print_error(text.error());
  print_out(*text);
  if (results.beyond() > 0)
    print_report(fmt::format("{} further anomalies are not explained: at most {} are kept\n",
                             results.beyond(), analysis::FindingLog::kMost),
                 true);
  return captures.damage ? print_error(*captures.damage) : ExitCode::done;
}

Result<void> check_explain(const ExplainOptions& options) {
  if (options.input.files.empty() && options.counters.empty())
    return fail("expected FILE, the capture, or --counters BEFORE AFTER");
  if (options.input.files.empty() && !options.port_address.empty())
    return fail("--port-address: expected FILE, the capture that has this address");
  if (!options.counters.empty() && options.counters.size() != 2)
    return fail(
        fmt::format("--counters: expected two files, BEFORE and AFTER, found {}; the "
                    "capture goes before the option",
                    options.counters.size()));
  if (options.counters.empty() && !options.port_address.empty())
    return fail("--port-address goes with --counters");
  return {};
}

}  // namespace

std::string evidence_command(const CaptureInput& input, const std::string& show) {
  const std::size_t space = std::min(show.find(' '), show.size());
  std::string line = "roce-dissect " + show.substr(0, space);
  for (const std::string& file : input.files) line += " " + app::quoted_for_shell(file);
  const auto add = [&line](std::string_view option, const std::string& value) {
    if (!value.empty()) line += fmt::format(" {} {}", option, app::quoted_for_shell(value));
  };
  add("--filter", input.filter);
  if (input.filter_names) line += " --filter-names";
  add("--from", input.window.from ? input.window.from->text : "");
  add("--to", input.window.to ? input.window.to->text : "");
  if (input.window.where && !show.starts_with("list")) add("-Y", input.window.where->text());
  if (input.no_tunnels) line += " --no-tunnels";
  for (const std::uint16_t port : input.roce_ports) line += fmt::format(" --roce-port {}", port);
  // Of the commands that have capture points.
  const std::string_view command = std::string_view(show).substr(0, space);
  if (command == "anomalies" || command == "messages" || command == "connections") {
    add("--points", input.points);
    if (input.apart) line += " --apart";
  }
  return line + show.substr(space);
}

const FigureTable& explanation_figures() {
  using Printed = PrintedExplanation;
  using Row = FigureOf<Printed>;
  static constexpr Figure kRows[] = {
      Row::of<[](const Printed& p) -> const auto& { return p.options.input.files; }>(
          "files", "The captures."),
      Row::of<[](const Printed& p) { return p.totals.frames; }>("frames", "Frames.", Unit::frames),
      Row::of<[](const Printed& p) { return p.totals.roce; }>("roce", "RoCE frames.", Unit::frames),
      Row::of<[](const Printed& p) {
        return capture::stamp_difference(p.totals.last, p.totals.first);
      }>("span_ns", "Time from the first to the last frame.", Unit::ns),
      Row::of<[](const Printed& p) -> const auto& { return p.points; }>(
          "points", "Capture points, and what decided them."),
      Row::of<[](const Printed& p) { return p.totals.further_views; }>(
          "further_views", "RoCE frames that were captured before, and not analysed again.",
          Unit::frames),
      Row::of<[](const Printed& p) -> const auto& { return p.explanation.overview; }>(
          "overview", "Sentences about the whole."),
      Row::of<[](const Printed& p) {
        return p.explanation.path ? p.explanation.path->places : std::vector<PlaceVerdict>();
      }>("places", "What happened at each place of a path; empty: no path was analysed."),
      Row::of<[](const Printed& p) {
        return p.explanation.path ? p.explanation.path->notes : std::vector<std::string>();
      }>("path_notes", "Sentences about clocks, and about what points lack."),
      Row::of<[](const Printed& p) { return p.explanation.nothing_is_wrong(); }>(
          "nothing_is_wrong", "True if no answer is wrong, and packets were followed."),
      Row::of<[](const Printed& p) -> const auto& { return p.explanation.answers; }>(
          "questions", "The questions of an operator, in their order, and their answers."),
      Row::of<&Printed::statements>("statements", "Statements, worst first."),
      Row::of<[](const Printed& p) -> const auto& { return p.explanation.congestion; }>(
          "congestion", "Was it congestion?"),
      Row::of<[](const Printed& p) -> const auto& { return p.counters; }>(
          "counters",
          "What the counters say: of the port that fits the capture best; without a capture of all "
          "ports whose counters changed; empty without --counters.")};
  static constexpr FigureTable kTable{"What happened in a capture.", kRows};
  return kTable;
}

app::Command explain_command() {
  auto options = std::make_shared<ExplainOptions>();
  app::Command command{
      .name = "explain",
      .help = "Answer an operator's seven questions: what went wrong, with evidence",
      .examples = R"(roce-dissect explain capture.pcapng
roce-dissect explain capture.pcapng --counters before.txt after.txt
roce-dissect explain --counters before.txt after.txt)",
      .notes = R"(Counters of the port, before and after the capture:
  grep . /sys/class/infiniband/*/ports/*/hw_counters/* > before.txt
  ethtool -S eth1 > before.txt
  rdma statistic show > before.txt)",
      .check = [options](const app::Given&) { return check_explain(*options); },
      .run = [options] { return run_explain(*options); },
  };
  add_optional_capture(command.options, options->input);
  add_points_option(command.options, options->input.points);
  add_apart_option(command.options, options->input.apart);
  add_moment_option(command.options, options->time);
  add_link_rate_option(command.options, options->input.link_rate);
  add_jobs_option(command.options, options->jobs);
  app::OptionValue counters = app::texts(options->counters);
  counters.takes_list = true;
  command.options.add("--counters", counters, "BEFORE AFTER",
                      "two readings of counters, to compare with the capture, or to read alone");
  command.options.add("--port-address", app::text(options->port_address), "IP",
                      "address of that port (default: the one that most counters agree with)");
  command.options.add_flag("--json", options->json, "one line of JSON");
  return command;
}

}  // namespace lw::dissect
