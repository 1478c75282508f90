// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "app/stop_signal.h"
#include "app/verdicts.h"
#include "core/counted.h"
#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/commands.h"
#include "dissect/commands/questions.h"
#include "dissect/fields/frame_source.h"
#include "dissect/verify/verdicts.h"
#include "report/figures/json.h"

namespace lw::dissect {
namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  app::Verdicts verdicts{kVerifyQuestions};
  bool json = false, csv = false, follow = false, no_tunnels = false;
  std::vector<std::uint16_t> roce_ports;
  TimeWindow window;
};

void print_text(const FileVerdict& v) {
  print_out(fmt::format("{}: {}, {} RoCE: ICRC {} ok, {} bad, {} unverifiable\n", v.file,
                        counted(v.frames, "frame"), v.roce, v.icrc_ok, v.bad_icrc,
                        v.icrc_unverifiable));
  for (const BadFrame& bad : v.first_bad) {
    print_out(fmt::format("  frame {} at offset {}: expected {:08x}, found {:08x}\n", bad.number,
                          bad.offset, bad.expected, bad.found));
  }
  if (v.bad_icrc > v.first_bad.size()) {
    print_out(fmt::format("  and {} more\n", v.bad_icrc - v.first_bad.size()));
  }
}

void print_remarks(const FileVerdict& v) {
  standard_output().flush();
  for (const auto& [name, frames] : v.closed)
    fmt::print(stderr, "{}: {} in a tunnel that is not opened: {}\n", v.file,
               counted(frames, "frame"), name);
  if (v.damage) print_error(*v.damage);
}

report::RowStyle style_of(const VerifyOptions& options) {
  if (options.json) return report::RowStyle::json;
  return options.csv ? report::RowStyle::csv : report::RowStyle::text;
}

Result<void> check_verify(const VerifyOptions& options) {
  if (auto one = check_follow(options.follow, options.files); !one) return one;
  if (auto checked = options.verdicts.check(kVerdictOutput); !checked) return checked;
  std::vector<NamedFile> inputs;
  for (const std::string& file : options.files) inputs.push_back({"FILE", place_of(file).file});
  return check_outputs(inputs, {options.verdicts.junit()});
}

void observe_icrcs(Judge& judge, const FileVerdict& v) {
  Observation icrc{.name = "icrc",
                   .value = static_cast<double>(v.bad_icrc),
                   .text = fmt::format("{} of {} ICRCs are bad", format_count(v.bad_icrc),
                                       format_count(v.icrc_ok + v.bad_icrc)),
                   .count = v.icrc_ok + v.bad_icrc};
  if (icrc.count == 0) {
    icrc.value.reset();
    icrc.unsure = fmt::format("no ICRC of {} can be verified", format_count(v.frames, "frame"));
  }
  judge.add(icrc);
  judge.add({.name = "unverifiable",
             .value = static_cast<double>(v.icrc_unverifiable),
             .text = fmt::format("{} of {} ICRCs cannot be verified",
                                 format_count(v.icrc_unverifiable), format_count(v.roce)),
             .count = v.roce});
  observe_capture(judge, v.damage, v.frames);
}

/// Judges and prints the results of one file.
void print_verdicts(VerifyOptions& options, report::RowFormat& rows, const FileVerdict& verdicts) {
  report::RowFormat lines(report::RowStyle::json, kVerdictOutput);
  Judge judge = options.verdicts.judge();
  observe_icrcs(judge, verdicts);
  const std::string line = options.verdicts.judged(
      judge, options.json, [&] { return lines.line(report::json_of(verdicts)); }, verdicts.file,
      &kVerdictOutput);
  if (rows.style() == report::RowStyle::text) return print_text(verdicts);
  print_out(rows.style() == report::RowStyle::json ? line : rows.line(report::json_of(verdicts)));
}

ExitCode run_verify(VerifyOptions& options) {
  if (auto sound = check_verify(options); !sound) return print_error(sound.error());
  const FrameReading reading{.follow_until = options.follow ? &stop_on_signals() : nullptr,
                             .tunnels = !options.no_tunnels,
                             .roce_ports = options.roce_ports,
                             .window = options.window};
  report::RowFormat rows(style_of(options), kVerdictOutput);
  ExitCode unread = ExitCode::done;  // of files that could not be opened
  for (const std::string& file : options.files) {
    const FileVerdict verdicts = verify_file(file, reading);
    if (verdicts.opened) print_verdicts(options, rows, verdicts);
    print_remarks(verdicts);
    if (!verdicts.opened && verdicts.damage) unread = std::max(unread, verdicts.damage->exit);
  }
  if (rows.style() == report::RowStyle::text) print_out(options.verdicts.all_text());
  return std::max(unread, options.verdicts.finish("roce-dissect verify"));
}

}  // namespace

app::Command verify_command() {
  auto options = std::make_shared<VerifyOptions>();
  app::Command command{
      .name = "verify",
      .help = "Check every ICRC; exit code 1 if one is bad",
      .examples = "roce-dissect verify *.pcap --json",
      .notes = "Truncated frames and IP fragments are unverifiable, not bad.",
      .run = [options] { return run_verify(*options); },
  };
  command.options
      .add("FILE", app::texts(options->files), "",
           "pcap or pcapng, FILE@INTERFACE: one of its interfaces; - for standard input")
      .required();
  command.options.add_flag("--json", options->json, "one line of JSON per file");
  command.options.add_flag("--csv", options->csv, "a line of CSV per file").excludes("--json");
  options->verdicts.add_options(command.options);
  add_window_options(command.options, options->window);
  add_where_option(command.options, options->window);
  add_follow_option(command.options, options->follow);
  add_tunnel_option(command.options, options->no_tunnels);
  add_port_option(command.options, options->roce_ports);
  return command;
}

}  // namespace lw::dissect
