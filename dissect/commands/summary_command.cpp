// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include <fmt/format.h>

#include "app/verdicts.h"
#include "core/counted.h"
#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/commands.h"
#include "dissect/commands/questions.h"
#include "dissect/summary/summary_figures.h"
#include "report/figures/json.h"
#include "report/table.h"
#include "roce/describe.h"

namespace lw::dissect {
namespace {

using report::Align;
using report::TextTable;

std::string text_of(std::uint64_t number) { return fmt::format("{}", number); }

std::string heading(const std::string& file, const Summary& summary) {
  const Overview& o = summary.overview;
  std::string text =
      fmt::format("{}: {}, {}, over {}\n", file, counted(o.all.frames, "frame"),
                  format_bytes(static_cast<double>(o.all.bytes)), format_duration(summary.span()));
  text += fmt::format("RoCE: {}, {}", counted(o.roce.frames, "frame"),
                      format_bytes(static_cast<double>(o.roce.bytes)));
  if (o.cut > 0) text += fmt::format("; {} cut by the capture", o.cut);
  if (o.fragments > 0) text += fmt::format("; {} IP fragments", o.fragments);
  return text + "\n";
}

/// A row for the least recently seen flows, if there are more than --max-flows.
std::string others_text(const OtherFlows& others) {
  return fmt::format("others ({})", counted(others.flows, "flow"));
}

/// "name  frames  bytes" for each row; nothing without rows.
template <class Map, class Name>
std::string counts_text(const char* title, const Map& rows, Name name,
                        const OtherFlows& others = {}) {
  if (rows.empty()) return {};
  TextTable table({{title}, {"frames", Align::right}, {"bytes", Align::right}});
  for (const auto& [key, count] : rows) {
    table.add_row({name(key), text_of(count.frames), text_of(count.bytes)});
  }
  if (others.flows > 0)
    table.add_row({others_text(others), text_of(others.frames), text_of(others.bytes)});
  return fmt::format("\n{}", table.to_string());
}

std::string qps_text(const Overview& overview) {
  if (overview.qps.empty()) return {};
  TextTable table({{"dest QP", Align::right},
                   {"source"},
                   {"destination"},
                   {"first PSN", Align::right},
                   {"last PSN", Align::right},
                   {"frames", Align::right},
                   {"bytes", Align::right}});
  for (const auto& [key, qp] : overview.qps) {
    const auto& [source, destination, number] = key;
    table.add_row({fmt::format("{:#x}", number), source, destination, text_of(qp.first_psn),
                   text_of(qp.last_psn), text_of(qp.frames), text_of(qp.bytes)});
  }
  const OtherFlows& others = overview.other_qps;
  if (others.flows > 0)
    table.add_row(
        {"", others_text(others), "", "", "", text_of(others.frames), text_of(others.bytes)});
  return fmt::format("\n{}", table.to_string());
}

constexpr auto kSame = [](const auto& name) { return std::string(name); };
constexpr auto kPair = [](const Overview::AddressPair& p) { return p.first + " > " + p.second; };
constexpr auto kQp = [](const Overview::QpKey& key) {
  const auto& [source, destination, number] = key;
  return fmt::format("{} > {} {:#x}", source, destination, number);
};
constexpr auto kEcn = [](std::uint8_t codepoint) { return std::string(ecn_name(codepoint)); };

/// A few lines, then one table each for kinds of packets, opcodes, QPs, addresses, VLANs, ECN and
/// other protocols.
std::string summary_text(const std::string& file, const Summary& summary) {
  const Overview& overview = summary.overview;
  return heading(file, summary) + counts_text("kind", overview.kinds, kSame) +
         counts_text("opcode", overview.opcodes, roce::opcode_text) + qps_text(overview) +
         counts_text("addresses", overview.pairs, kPair, overview.other_pairs) +
         counts_text("VLAN", overview.vlans, kSame, overview.other_vlans) +
         counts_text("ECN", overview.ecn, kEcn) + counts_text("not RoCE", overview.others, kSame) +
         counts_text("tunnels", overview.tunnels, kSame) +
         counts_text("tunnels not opened", overview.unopened_tunnels, kSame);
}

template <class Map, class Name>
void add_rows(std::string& out, report::RowFormat& rows, const char* table, const Map& counts,
              Name name, const OtherFlows& others = {}) {
  const auto add = [&](const std::string& row, const Count& count) {
    out += rows.line(
        {{"table", table}, {"name", row}, {"frames", count.frames}, {"bytes", count.bytes}});
  };
  for (const auto& [key, count] : counts) add(name(key), count);
  if (others.flows > 0) add(others_text(others), others);
}

/// One line for each row of each table.
std::string summary_csv(const Overview& o) {
  const std::map<std::string_view, Count> totals{{"all", o.all}, {"RoCE", o.roce}};
  report::RowFormat rows(report::RowStyle::csv, kSummaryOutput);
  std::string out;
  add_rows(out, rows, "total", totals, kSame);
  add_rows(out, rows, "kind", o.kinds, kSame);
  add_rows(out, rows, "opcode", o.opcodes, roce::opcode_text);
  add_rows(out, rows, "qp", o.qps, kQp, o.other_qps);
  add_rows(out, rows, "addresses", o.pairs, kPair, o.other_pairs);
  add_rows(out, rows, "vlan", o.vlans, kSame, o.other_vlans);
  add_rows(out, rows, "ecn", o.ecn, kEcn);
  add_rows(out, rows, "not_roce", o.others, kSame);
  add_rows(out, rows, "tunnel", o.tunnels, kSame);
  add_rows(out, rows, "unopened_tunnel", o.unopened_tunnels, kSame);
  return out;
}

struct SummaryOptions {
  CaptureInput input;
  std::size_t most_flows = kMostFlows;
  app::Verdicts verdicts{kReadingQuestions};
  bool json = false, csv = false;
};

/// Judges the summary, and returns it in the requested format.
std::string report_of(SummaryOptions& options, const Overview& overview,
                      const std::optional<Error>& damage) {
  const auto& files = options.input.files;
  const Summary summary{files, overview};
  Judge judge = options.verdicts.judge();
  observe_capture(judge, damage, overview.all.frames);
  const std::string json = options.verdicts.judged(
      judge, options.json, [&] { return report::json_line(kSummaryOutput, summary); },
      names_of(files), &kSummaryOutput);
  if (options.json) return json;
  return options.csv ? summary_csv(overview)
                     : options.verdicts.text() + summary_text(names_of(files), summary);
}

Result<void> check_summary(const SummaryOptions& options) {
  if (auto checked = options.verdicts.check(kSummaryOutput); !checked) return checked;
  std::vector<NamedFile> inputs;
  for (const std::string& file : options.input.files)
    inputs.push_back({"FILE", place_of(file).file});
  return check_outputs(inputs, {options.verdicts.junit()});
}

ExitCode run_summary(SummaryOptions& options) {
  if (auto sound = check_summary(options); !sound) return print_error(sound.error());
  auto source = open_input(options.input);
  if (!source) return print_error(source.error());
  Overview overview(options.most_flows);
  std::optional<Error> damage;
  for (;;) {
    const auto captured = source->next();
    if (!captured) damage = captured.error();
    if (!captured || !*captured) break;
    overview.add(Dissection(**captured));
  }
  print_out(report_of(options, overview, damage));
  if (damage) print_error(*damage);
  return options.verdicts.finish("roce-dissect summary");
}

}  // namespace

app::Command summary_command() {
  auto options = std::make_shared<SummaryOptions>();
  app::Command command{
      .name = "summary",
      .help = "Print frames, kinds of packets, opcodes, QPs, addresses, time span and bytes",
      .examples = "roce-dissect summary capture.pcapng",
      .run = [options] { return run_summary(*options); },
  };
  add_capture_options(command.options, options->input);
  add_flow_limit(command.options, options->most_flows);
  options->verdicts.add_options(command.options);
  command.options.add_flag("--json", options->json, "one line of JSON");
  command.options.add_flag("--csv", options->csv, "CSV: table, name, frames, bytes")
      .excludes("--json");
  return command;
}

}  // namespace lw::dissect
