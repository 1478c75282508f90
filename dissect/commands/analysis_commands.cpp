// SPDX-License-Identifier: BSD-3-Clause
// sessions, messages, anomalies and explain: four views of one analysis.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/commands.h"
#include "dissect/explain/explanation.h"
#include "dissect/explain/port_counters.h"
#include "dissect/sessions/result_rows.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

struct SessionsOptions {
  CaptureInput input;
  bool json = false, csv = false;
};

using report::Align;

report::Table empty_table() {
  return report::Table({{"session", Align::right},
                        {"point"},
                        {""},
                        {"from"},
                        {"to"},
                        {"operations"},
                        {"messages", Align::right},
                        {"payload", Align::right},
                        {"goodput", Align::right},
                        {"resent", Align::right},
                        {"RTT p50", Align::right},
                        {"p99", Align::right},
                        {"NAKs", Align::right},
                        {"RNR", Align::right},
                        {"CE", Align::right},
                        {"CNPs", Align::right}});
}

std::string time_of(const Histogram& histogram, double share) {
  return histogram.count() == 0 ? "" : format_duration(Duration{histogram.quantile(share)});
}

std::string goodput_of(const analysis::StreamCounts& counts) {
  const auto span = capture::stamp_difference(counts.last, counts.first);
  if (span <= Duration{} || counts.payload == 0) return "";
  return format_bit_rate(static_cast<double>(counts.payload) * 8e9 /
                         static_cast<double>(span.count()));
}

void add_row(report::Table& table, const analysis::Analyst& analyst, const CapturePoints& points,
             const analysis::Session& session, std::uint8_t direction) {
  const auto& there = session.directions[direction];
  const auto& back = session.directions[1 - direction];
  static const analysis::StreamCounts kNothing;
  const analysis::StreamCounts& counts = there.stream ? there.stream->counts() : kNothing;
  const std::uint32_t known = there.flow != analysis::QpFlow::kNone ? there.flow : back.flow;
  const analysis::QpFlow& flow = analyst.flows()[known];
  const Ends ends = ends_of(analyst, session, direction);
  std::uint64_t naks = 0;
  for (const auto& [code, count] : counts.naks) naks += count;
  const auto number = [](std::uint64_t value) { return fmt::format("{}", value); };
  table.add_row({number(session.number), points.names()[flow.key.point],
                 std::string(wire::name_of(flow.transport)), ends.from, ends.to,
                 operations_text(counts), number(there.stream ? there.stream->messages() : 0),
                 format_bytes(static_cast<double>(counts.payload)), goodput_of(counts),
                 number(counts.resent), time_of(counts.rtt, 0.5), time_of(counts.rtt, 0.99),
                 number(naks), number(counts.rnr_naks), number(there.congested),
                 number(back.cnps)});
}

std::string rows_of(const SessionsOptions& options, const analysis::Analyst& analyst,
                    const CapturePoints& points) {
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           "longwire.session");
  report::Table table = empty_table();
  std::string lines;
  for (const analysis::Session& session : analyst.sessions()) {
    for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}}) {
      if (!has_traffic(session, direction)) continue;
      if (options.json || options.csv)
        lines += format.line(session_row(analyst, points, session, direction));
      else
        add_row(table, analyst, points, session, direction);
    }
  }
  if (options.json || options.csv) return lines;
  return table.empty() ? "no RoCE frame\n" : table.to_string();
}

ExitCode run_sessions(const SessionsOptions& options) {
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  CollectedResults results;
  analysis::Analyst analyst(results);
  CapturePoints points;
  const auto damage = analyse(*source, analyst, points);
  print_out(rows_of(options, analyst, points));
  return damage ? print_error(*damage) : ExitCode::done;
}

enum class Grouping : std::uint8_t { none, operation, size, operation_and_size };

struct MessagesOptions {
  CaptureInput input;
  Grouping by = Grouping::none;
  bool json = false, csv = false;
};

/// Messages of one operation and size.
struct Group {
  std::uint64_t messages = 0, bytes = 0, resent = 0, incomplete = 0;
  Histogram latency;  // ns
};
using Groups = std::map<std::tuple<std::string_view, std::uint64_t>, Group>;

void add_to(Groups& groups, Grouping by, const analysis::Message& message) {
  const bool operation = by != Grouping::size, size = by != Grouping::operation;
  Group& group = groups[{operation ? wire::name_of(message.operation) : std::string_view{},
                         size ? message.bytes : 0}];
  ++group.messages;
  group.bytes += message.bytes;
  group.resent += message.resent;
  if (!message.completion) {
    ++group.incomplete;
    return;
  }
  group.latency.add(
      capture::stamp_difference(message.completion->stamp, message.first_stamp).count());
}

constexpr std::pair<const char*, double> kShares[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};

report::Json group_row(Grouping by, const Groups::value_type& entry) {
  const auto& [operation, size] = entry.first;
  const Group& group = entry.second;
  report::Json row;
  if (by != Grouping::size) row["operation"] = operation;
  if (by != Grouping::operation) row["size"] = size;
  row["messages"] = group.messages;
  row["bytes"] = group.bytes;
  row["resent_packets"] = group.resent;
  row["without_completion"] = group.incomplete;
  const bool any = group.latency.count() > 0;
  row["latency_min_ns"] = any ? report::Json(group.latency.minimum()) : report::Json();
  for (const auto& [name, share] : kShares)
    row[fmt::format("latency_{}_ns", name)] =
        any ? report::Json(group.latency.quantile(share)) : report::Json();
  row["latency_max_ns"] = any ? report::Json(group.latency.maximum()) : report::Json();
  return row;
}

std::string groups_text(Grouping by, const Groups& groups) {
  using report::Align;
  report::Table table({{"operation"},
                       {"size", Align::right},
                       {"messages", Align::right},
                       {"resent", Align::right},
                       {"no completion", Align::right},
                       {"min", Align::right},
                       {"p50", Align::right},
                       {"p90", Align::right},
                       {"p99", Align::right},
                       {"max", Align::right}});
  for (const auto& [key, group] : groups) {
    const auto time = [&](std::int64_t ns) {
      return group.latency.count() == 0 ? std::string() : format_duration(Duration{ns});
    };
    table.add_row({std::string(std::get<0>(key)),
                   by == Grouping::operation ? "" : fmt::format("{}", std::get<1>(key)),
                   fmt::format("{}", group.messages), fmt::format("{}", group.resent),
                   fmt::format("{}", group.incomplete), time(group.latency.minimum()),
                   time(group.latency.quantile(0.5)), time(group.latency.quantile(0.9)),
                   time(group.latency.quantile(0.99)), time(group.latency.maximum())});
  }
  return table.empty() ? "no message\n" : table.to_string();
}

void print_groups(const MessagesOptions& options, const Groups& groups) {
  if (!options.json && !options.csv) return print_out(groups_text(options.by, groups));
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           "longwire.message_group");
  for (const auto& entry : groups) print_out(format.line(group_row(options.by, entry)));
}

ExitCode run_messages(const MessagesOptions& options) {
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  CollectedResults results;
  Groups groups;
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           "longwire.message");
  results.on_message = [&](const analysis::Message& message) {
    if (options.by != Grouping::none) return add_to(groups, options.by, message);
    print_out(options.json || options.csv ? format.line(message_row(message))
                                          : message_text(message));
  };
  analysis::Analyst analyst(results);
  CapturePoints points;
  const auto damage = analyse(*source, analyst, points);
  if (options.by != Grouping::none) print_groups(options, groups);
  return damage ? print_error(*damage) : ExitCode::done;
}

app::Value grouping_value(Grouping& by) {
  const auto parse = [](std::string_view text) -> Parsed<Grouping> {
    if (text == "operation") return Grouping::operation;
    if (text == "size") return Grouping::size;
    if (text == "operation,size" || text == "size,operation") return Grouping::operation_and_size;
    return std::unexpected(
        fmt::format("expected operation, size or operation,size, found \"{}\"", text));
  };
  return app::parsed(parse, by);
}

struct AnomaliesOptions {
  CaptureInput input;
  std::vector<analysis::AnomalyKind> kinds;  // empty: all
  bool json = false, csv = false;
};

bool is_wanted(const AnomaliesOptions& options, const analysis::Anomaly& anomaly) {
  return options.kinds.empty() ||
         std::ranges::find(options.kinds, anomaly.kind) != options.kinds.end();
}

void print_anomalies(const AnomaliesOptions& options,
                     const std::vector<analysis::Anomaly>& anomalies) {
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           "longwire.anomaly");
  for (const analysis::Anomaly& anomaly : anomalies) {
    if (!is_wanted(options, anomaly)) continue;
    print_out(options.json || options.csv ? format.line(anomaly_row(anomaly))
                                          : anomaly_text(anomaly));
  }
}

ExitCode run_anomalies(const AnomaliesOptions& options) {
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  CollectedResults results;
  analysis::Analyst analyst(results);
  CapturePoints points;
  const auto damage = analyse(*source, analyst, points);
  const auto& anomalies = results.in_order();
  print_anomalies(options, anomalies);
  if (anomalies.empty() && !options.json && !options.csv) print_out("no anomaly\n");
  if (results.beyond() > 0)
    print_report(fmt::format("{} further anomalies are not listed: at most {} are kept\n",
                             results.beyond(), CollectedResults::kMostAnomalies),
                 true);
  return damage ? print_error(*damage) : ExitCode::done;
}

app::Value kinds_value(std::vector<analysis::AnomalyKind>& kinds) {
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

struct ExplainOptions {
  CaptureInput input;
  std::vector<std::string> counters;  // two files: before, after
  std::string port_address;
  bool json = false;
};

struct CounterFiles {
  PortCounters before, after;
};

// explain: text.

/// Breaks `text` between words, so that no line is longer than kColumns. Lines behind the first
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

/// As a shell takes it.
std::string quoted(const std::string& word) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_./@:,+=%").find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, plain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// "anomalies --kind nak" as a command line for these files.
std::string command_line(const ExplainOptions& options, const std::string& show) {
  const std::size_t space = std::min(show.find(' '), show.size());
  std::string line = "roce-dissect " + show.substr(0, space);
  for (const std::string& file : options.input.files) line += " " + quoted(file);
  if (!options.input.filter.empty()) line += " --filter " + quoted(options.input.filter);
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
    text =
        "\nNothing is wrong: no packet was lost, late, copied, refused, damaged or sent again.\n";
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

Json statement_json(const ExplainOptions& options, const Statement& statement) {
  Json row;
  row["severity"] = name_of(statement.severity);
  row["topic"] = statement.topic;
  row["text"] = statement.text;
  row["events"] = statement.events;
  row["packets"] = statement.packets;
  row["cost_ns"] = statement.cost.count();
  row["sessions"] = statement.sessions;
  row["first_frames"] = statement.frames;
  row["command"] = command_line(options, statement.show);
  return row;
}

Json congestion_json(const CongestionVerdict& verdict) {
  Json row;
  row["answer"] = name_of(verdict.answer);
  row["reason"] = verdict.reason;
  row["marked"] = verdict.marked;
  row["cnps"] = verdict.notifications;
  row["lost"] = verdict.lost;
  row["resent"] = verdict.resent;
  row["pause_frames"] = verdict.pauses;
  return row;
}

Json counters_json(const CounterReport& report) {
  Json row;
  row["address"] = report.host;
  row["compared"] = Json::array();
  for (const CounterComparison& one : report.compared)
    row["compared"].push_back({{"counter", one.name},
                               {"what", one.what},
                               {"counted", one.counted},
                               {"captured", one.captured},
                               {"contradicts", one.contradicts},
                               {"text", one.text}});
  row["not_compared"] = report.not_compared;
  row["reset"] = report.reset;
  return row;
}

std::string explanation_json(const ExplainOptions& options, const Explanation& explanation,
                             const CaptureTotals& totals,
                             const std::optional<CounterReport>& counters) {
  Json row;
  row["schema"] = "longwire.explanation";
  row["version"] = 1;
  row["files"] = options.input.files;
  row["frames"] = totals.frames;
  row["roce"] = totals.roce;
  row["span_ns"] = capture::stamp_difference(totals.last, totals.first).count();
  row["overview"] = explanation.overview;
  row["nothing_is_wrong"] = explanation.nothing_is_wrong();
  row["statements"] = Json::array();
  for (const Statement& statement : explanation.statements)
    row["statements"].push_back(statement_json(options, statement));
  row["congestion"] = congestion_json(explanation.congestion);
  row["counters"] = counters ? counters_json(*counters) : Json();
  return report::json_line(row);
}

// explain: the command.

Result<std::optional<CounterFiles>> read_counters(const ExplainOptions& options) {
  if (options.counters.empty()) return std::nullopt;
  auto before = read_port_counters(options.counters[0]);
  if (!before) return std::unexpected(before.error());
  auto after = read_port_counters(options.counters[1]);
  if (!after) return std::unexpected(after.error());
  return CounterFiles{std::move(*before), std::move(*after)};
}

/// What the analysis of the capture is printed as; an error of the counters' comparison.
Result<std::string> report_of(const ExplainOptions& options, const Evidence& evidence,
                              const std::optional<CounterFiles>& files) {
  std::optional<CounterReport> counters;
  if (files) {
    auto compared = compare_counters(files->before, files->after, evidence, options.port_address);
    if (!compared) return std::unexpected(compared.error());
    counters = std::move(*compared);
  }
  const Explanation explanation = explain(evidence);
  if (options.json) return explanation_json(options, explanation, evidence.totals, counters);
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
  CollectedResults results;
  MessageCounts messages;
  results.on_message = [&](const analysis::Message& message) {
    MessageCount& count = messages[{message.session, message.direction, message.operation}];
    ++count.messages;
    count.bytes += message.bytes;
  };
  analysis::Analyst analyst(results);
  CapturePoints points;
  CaptureTotals totals;
  const auto damage = analyse(*source, analyst, points, &totals);
  const auto text =
      report_of(options, {analyst, points, results.in_order(), totals, messages}, *files);
  if (!text) return print_error(text.error());
  print_out(*text);
  if (results.beyond() > 0)
    print_report(fmt::format("{} further anomalies are not explained: at most {} are kept\n",
                             results.beyond(), CollectedResults::kMostAnomalies),
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

app::Command sessions_command() {
  auto options = std::make_shared<SessionsOptions>();
  app::Command command{
      .name = "sessions",
      .help = "List connections: both directions, messages, goodput, resent packets, round trips",
      .examples = "roce-dissect sessions capture.pcapng",
      .run = [options] { return run_sessions(*options); },
  };
  add_capture_options(command.options, options->input);
  command.options.add_flag("--json", options->json, "one JSON object per direction of a session");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
}

app::Command messages_command() {
  auto options = std::make_shared<MessagesOptions>();
  app::Command command{
      .name = "messages",
      .help = "List SENDs, WRITEs, READs and atomics with size, completion and latency",
      .examples = R"(roce-dissect messages capture.pcapng
roce-dissect messages capture.pcapng --by operation,size)",
      .run = [options] { return run_messages(*options); },
  };
  add_capture_options(command.options, options->input);
  command.options.add("--by", grouping_value(options->by), "KEYS",
                      "percentiles of the latency by operation, size or operation,size");
  command.options.add_flag("--json", options->json, "one JSON object per message or group");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
}

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
  command.options.add("--kind", kinds_value(options->kinds), "KIND",
                      "only anomalies of this kind; may be repeated");
  command.options.add_flag("--json", options->json, "one JSON object per anomaly");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
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
  app::Value counters = app::texts(options->counters);
  counters.takes_list = true;
  command.options.add("--counters", counters, "BEFORE AFTER",
                      "two readings of a port's counters, to compare with the capture");
  command.options.add("--port-address", app::text(options->port_address), "IP",
                      "address of that port (default: the one that most counters agree with)");
  command.options.add_flag("--json", options->json, "one line of JSON");
  return command;
}

}  // namespace lw::dissect
