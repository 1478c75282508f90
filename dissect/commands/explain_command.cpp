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
#include "dissect/commands/commands.h"
#include "dissect/commands/outputs.h"
#include "dissect/explain/explanation.h"
#include "dissect/explain/port_counters.h"
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
  bool json = false;
};

struct CounterFiles {
  PortCounters before, after;
};

// explain: text.

/// Breaks `text` between words, so that no line is longer than kColumns. Lines after the first
/// begin with `indent`.
std::string broken(std::string_view text, std::string_view indent) {
  constexpr std::size_t kColumns = 100;
  std::string lines;
  std::size_t column = indent.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    const bool fits = column + word.size() + 1 <= kColumns;
    if (at > 0 && !fits) {
      lines += "\n";
      lines += indent;
      column = indent.size();
    } else if (at > 0) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
    at = end + 1;
  }
  return lines;
}

/// "anomalies --kind nak" as a command line for these files.
std::string command_line(const ExplainOptions& options, const std::string& show) {
  const std::size_t space = std::min(show.find(' '), show.size());
  std::string line = "roce-dissect " + show.substr(0, space);
  for (const std::string& file : options.input.files) line += " " + app::quoted_for_shell(file);
  if (!options.input.filter.empty())
    line += " --filter " + app::quoted_for_shell(options.input.filter);
  if (options.input.filter_names) line += " --filter-names";
  return line + show.substr(space);
}

std::string evidence_line(const ExplainOptions& options, const Statement& statement) {
  std::string line;
  if (!statement.frames.empty()) {
    line = fmt::format("frame{} {}", statement.frames.size() == 1 ? "" : "s",
                       fmt::join(statement.frames, ", "));
    if (statement.events > statement.frames.size())
      line += fmt::format(" and {} more", statement.events - statement.frames.size());
    line += ": ";
  }
  return line + command_line(options, statement.show);
}

std::string statements_text(const ExplainOptions& options, const Explanation& explanation) {
  std::string text;
  if (explanation.nothing_is_wrong())
    text = fmt::format(
        "\nNothing is wrong{}: no packet was lost, late, copied, refused, damaged or sent again.\n",
        explanation.followed == Followed::all ? "" : " in what was followed");
  std::size_t number = 0;
  for (const Statement& statement : explanation.statements)
    text += fmt::format("\n{}. {}\n   {}\n", ++number, broken(statement.text, "   "),
                        evidence_line(options, statement));
  return text;
}

std::string counters_text(const CounterReport& report) {
  const auto wrong = std::ranges::count(report.compared, true, &CounterComparison::contradicts);
  std::string text = fmt::format("\nCounters of the port of {}: {} of {} contradict the capture.\n",
                                 report.host, wrong, report.compared.size());
  for (const CounterComparison& one : report.compared)
    text += fmt::format("{} {}\n", one.contradicts ? " !" : "  ",
                        broken(fmt::format("{} ({}): {}", one.name, one.what, one.text), "     "));
  if (!report.reset.empty())
    text += broken(fmt::format("Smaller than before, so not compared: {}.",
                               fmt::join(report.reset, ", ")),
                   "") +
            "\n";
  if (!report.not_compared.empty())
    text +=
        broken(fmt::format("Changed, and not compared: {}.", fmt::join(report.not_compared, ", ")),
               "") +
        "\n";
  return text;
}

std::string explanation_text(const ExplainOptions& options, const Explanation& explanation) {
  std::string text = names_of(options.input.files) + "\n";
  for (const std::string& line : explanation.overview)
    text += fmt::format("  {}\n", broken(line, "  "));
  text += statements_text(options, explanation);
  const CongestionVerdict& verdict = explanation.congestion;
  std::string answer(name_of(verdict.answer));
  answer.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(answer.front())));
  return text + "\n" +
         broken(fmt::format("Was it congestion? {}: {}", answer, verdict.reason), "") + "\n";
}

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
          return command_line(s.options, s.statement.show);
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
  const std::optional<CounterReport>& counters;

  [[nodiscard]] std::vector<PrintedStatement> statements() const {
    std::vector<PrintedStatement> printed;
    for (const Statement& statement : explanation.statements)
      printed.push_back({options, statement});
    return printed;
  }
};

// explain: the command.

Result<std::optional<CounterFiles>> read_counters(const ExplainOptions& options) {
  if (options.counters.empty()) return std::nullopt;
  auto before = read_port_counters(options.counters[0]);
  if (!before) return std::unexpected(before.error());
  auto after = read_port_counters(options.counters[1]);
  if (!after) return std::unexpected(after.error());
  return CounterFiles{std::move(*before), std::move(*after)};
}

/// Formats the analysis of the capture. Error: that of the counters' comparison.
Result<std::string> report_of(const ExplainOptions& options, const Evidence& evidence,
                              const std::optional<CounterFiles>& files) {
  std::optional<CounterReport> counters;
  if (files) {
    auto compared = compare_counters(files->before, files->after, evidence, options.port_address);
    if (!compared) return std::unexpected(compared.error());
    counters = std::move(*compared);
  }
  const Explanation explanation = explain(evidence);
  if (options.json)
    return report::json_line(kExplanationOutput,
                             PrintedExplanation{options, explanation, evidence.totals,
                                                evidence.points.points(), counters});
  if (evidence.totals.roce == 0)
    return fmt::format("{}: {} frames, none of RoCE\n", names_of(options.input.files),
                       evidence.totals.frames);
  return explanation_text(options, explanation) + (counters ? counters_text(*counters) : "");
}

ExitCode run_explain(const ExplainOptions& options) {
  const auto files = read_counters(options);
  if (!files) return print_error(files.error());
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  auto points = CapturePoints::decide(*source, options.input.points);
  if (!points) return print_error(points.error());
  CollectedResults results;
  MessageCounts messages;
  results.on_message = [&](const analysis::Message& message) {
    MessageCount& count = messages[{message.session, message.direction, message.operation}];
    ++count.messages;
    count.bytes += message.bytes;
  };
  analysis::Analyst analyst(results);
  CaptureTotals totals;
  const auto damage = analyse(*source, analyst, *points, options.jobs, &totals);
  const auto text =
      report_of(options, {analyst, *points, results.in_order(), totals, messages}, *files);
  if (!text) return print_error(text.error());
  print_out(*text);
  if (results.beyond() > 0)
    print_report(fmt::format("{} further anomalies are not explained: at most {} are kept\n",
                             results.beyond(), analysis::FindingLog::kMost),
                 true);
  return damage ? print_error(*damage) : ExitCode::done;
}

Result<void> check_explain(const ExplainOptions& options) {
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
      Row::of<[](const Printed& p) { return p.explanation.nothing_is_wrong(); }>(
          "nothing_is_wrong", "True if no statement tells of a fault."),
      Row::of<&Printed::statements>("statements", "Statements, worst first."),
      Row::of<[](const Printed& p) -> const auto& { return p.explanation.congestion; }>(
          "congestion", "Was it congestion?"),
      Row::of<[](const Printed& p) -> const auto& { return p.counters; }>(
          "counters", "Comparison with the counters of a port; null without --counters.")
          .or_null()};
  static constexpr FigureTable kTable{"What happened in a capture.", kRows};
  return kTable;
}

app::Command explain_command() {
  auto options = std::make_shared<ExplainOptions>();
  app::Command command{
      .name = "explain",
      .help = "Say in words what went wrong, worst first, with evidence, and if it was congestion",
      .examples = R"(roce-dissect explain capture.pcapng
roce-dissect explain capture.pcapng --counters before.txt after.txt)",
      .notes = R"(Counters of the port, before and after the capture:
  grep . /sys/class/infiniband/*/ports/*/hw_counters/* > before.txt
  ethtool -S eth1 > before.txt
  rdma statistic show > before.txt)",
      .check = [options](const app::Given&) { return check_explain(*options); },
      .run = [options] { return run_explain(*options); },
  };
  add_capture_options(command.options, options->input);
  add_points_option(command.options, options->input.points);
  add_jobs_option(command.options, options->jobs);
  app::OptionValue counters = app::texts(options->counters);
  counters.takes_list = true;
  command.options.add("--counters", counters, "BEFORE AFTER",
                      "two readings of a port's counters, to compare with the capture");
  command.options.add("--port-address", app::text(options->port_address), "IP",
                      "address of that port (default: the one that most counters agree with)");
  command.options.add_flag("--json", options->json, "one line of JSON");
  return command;
}

}  // namespace lw::dissect
