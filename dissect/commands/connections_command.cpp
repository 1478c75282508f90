// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/analysis_input.h"
#include "dissect/sessions/result_figures.h"
#include "dissect/sessions/setup_words.h"
#include "report/json_line.h"
#include "report/table.h"

namespace lw::dissect {
namespace {

struct ConnectionsOptions {
  CaptureInput input;
  unsigned jobs = 1;
  bool json = false, csv = false;
};

using report::Align;

/// `timed`: with a column of the times at which connections begin.
report::TextTable empty_table(bool timed) {
  std::vector<report::TextTable::Column> columns = {{"connection", Align::right},
                                                    {"where"},
                                                    {""},
                                                    {"from"},
                                                    {"to"},
                                                    {"operations"},
                                                    {"messages", Align::right},
                                                    {"payload", Align::right},
                                                    {"goodput", Align::right},
                                                    {"retransmitted", Align::right},
                                                    {"RTT p50", Align::right},
                                                    {"p99", Align::right},
                                                    {"NAKs", Align::right},
                                                    {"RNR", Align::right},
                                                    {"CE", Align::right},
                                                    {"CNPs", Align::right}};
  if (timed) columns.insert(columns.begin() + 1, {"begins", Align::right});
  return report::TextTable(std::move(columns));
}

std::string time_of(const CompactHistogram& histogram, double share) {
  return histogram.count() == 0 ? "" : format_duration(Duration{histogram.quantile(share)});
}

std::string goodput_of(const analysis::StreamCounts& counts) {
  const double goodput = counts.goodput();
  return goodput > 0 ? format_bit_rate(goodput) : "";
}

void add_row(report::TextTable& table, const analysis::Analyst& analyst,
             const CapturePoints& points, const analysis::Session& session, std::uint8_t direction,
             const std::string& time) {
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
  std::vector<std::string> row = {number(session.number),
                                  points.seen_at(flow.key.point),
                                  std::string(wire::name_of(flow.transport)),
                                  ends.from,
                                  ends.to,
                                  operations_text(counts),
                                  number(there.stream ? there.stream->messages() : 0),
                                  format_bytes(static_cast<double>(counts.payload_passed())),
                                  goodput_of(counts),
                                  number(counts.resent),
                                  time_of(counts.rtt, 0.5),
                                  time_of(counts.rtt, 0.99),
                                  number(naks),
                                  number(counts.rnr_naks),
                                  number(there.congested),
                                  number(back.cnps)};
  if (!time.empty()) row.insert(row.begin() + 1, time);
  table.add_row(std::move(row));
}

/// A line for each set-up; those of connections without packets too.
std::string setups_text(const analysis::Analyst& analyst) {
  std::string text;
  for (const analysis::ConnectionSetup& setup : analyst.setups().setups())
    text += fmt::format("{}{}: {}\n", text.empty() ? "\n" : "",
                        setup.session == 0 ? fmt::format("frame {}", setup.first_frame())
                                           : fmt::format("connection {}", setup.session),
                        setup_text(setup));
  return text;
}

std::string rows_of(const ConnectionsOptions& options, const analysis::Analyst& analyst,
                    const AnalysedCaptures& captures) {
  const CapturePoints& points = captures.points;
  RowTimes times(options.input.time.value_or(TimeStyle::relative), captures.begin);
  report::RowFormat format(options.csv ? report::RowStyle::csv : report::RowStyle::json,
                           kSessionOutput);
  report::TextTable table = empty_table(options.input.time.has_value());
  std::string lines;
  for (const analysis::Session& session : analyst.sessions()) {
    for (const std::uint8_t direction : {std::uint8_t{0}, std::uint8_t{1}}) {
      if (!has_traffic(session, direction)) continue;
      if (options.json || options.csv)
        lines += format.line(session_row(analyst, points, session, direction));
      else
        add_row(table, analyst, points, session, direction,
                options.input.time ? times.text(session.first) : "");
    }
  }
  if (options.json || options.csv) return lines;
  const std::string setups = setups_text(analyst);
  if (table.empty() && setups.empty()) return "no RoCE frame\n";
  return (table.empty() ? "" : table.to_string()) + setups;
}

ExitCode run_connections(const ConnectionsOptions& options) {
  CollectedResults results;
  analysis::Analyst analyst(results);
  AnalysedCaptures captures;
  if (auto done = analyse_input(options.input, options.jobs, analyst, results, captures); !done)
    return print_error(done.error());
  print_out(rows_of(options, analyst, captures));
  return captures.damage ? print_error(*captures.damage) : ExitCode::done;
}

}  // namespace

app::Command connections_command() {
  auto options = std::make_shared<ConnectionsOptions>();
  app::Command command{
      .name = "connections",
      .help =
          "List connections: both directions, messages, goodput, retransmitted packets, round "
          "trips",
      .examples = "roce-dissect connections capture.pcapng",
      .run = [options] { return run_connections(*options); },
  };
  add_capture_options(command.options, options->input);
  add_points_option(command.options, options->input.points);
  add_apart_option(command.options, options->input.apart);
  add_time_option(command.options, options->input.time);
  add_jobs_option(command.options, options->jobs);
  command.options.add_flag("--json", options->json,
                           "one JSON object per direction of a connection");
  command.options.add_flag("--csv", options->csv, "CSV with a header line").excludes("--json");
  return command;
}

}  // namespace lw::dissect
