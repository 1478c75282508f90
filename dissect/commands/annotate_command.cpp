// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "capture/limits.h"
#include "core/output.h"
#include "core/printable.h"
#include "dissect/annotate/frame_comments.h"
#include "dissect/annotate/spooled_input.h"
#include "dissect/commands/commands.h"
#include "dissect/explain/explanation.h"
#include "dissect/explain/explanation_text.h"
#include "dissect/sessions/result_rows.h"

namespace lw::dissect {
namespace {

struct AnnotateOptions {
  CaptureInput input;  // one file
  std::string in, out;
};

/// What the analysis of the capture adds to it.
struct Annotations {
  std::string summary;  // of the section: the explanation
  std::vector<capture::FrameComment> comments;
  std::uint64_t findings = 0, beyond = 0;
  std::optional<Error> damage = {};  // that ended the analysis: the frames before it count
};

Annotations annotations_of(const AnnotateOptions& options, const Evidence& evidence,
                           std::uint64_t beyond) {
  CaptureInput asked = options.input;  // with the name that the user gave
  asked.files = {options.in};
  const auto command_line = [&asked](const std::string& show) {
    return evidence_command(asked, show);
  };
  // Names of interfaces are foreign text, and capinfos prints comments to a terminal.
  return {.summary = "longwire, roce-dissect explain\n" +
                     visible(explanation_text(explain(evidence), command_line), LineEnds::kept),
          .comments = frame_comments(evidence),
          .findings = evidence.anomalies.size(),
          .beyond = beyond};
}

Result<Annotations> analyse_capture(const AnnotateOptions& options) {
  auto source = open_input(options.input);
  if (!source) return std::unexpected(source.error());
  auto points = CapturePoints::decide(*source, options.input.points);
  if (!points) return std::unexpected(points.error());
  CollectedResults results;
  MessageCounts messages;
  results.on_message = [&](const analysis::Message& message) {
    messages[{message.session, message.direction, message.operation}].add(message);
  };
  analysis::Analyst analyst(results);
  CaptureTotals totals;
  auto damage = analyse(*source, analyst, *points, 1, &totals);
  if (damage && damage->exit == ExitCode::usage) return std::unexpected(*damage);
  Annotations found = annotations_of(
      options,
      {analyst, *points, results.in_order(), totals, messages, nullptr, options.input.link_rate},
      results.beyond());
  found.damage = std::move(damage);
  return found;
}

void print_result(const AnnotateOptions& options, const Annotations& annotations,
                  const capture::AnnotatedCopy& copy) {
  const bool taken = options.out == "-";
  print_report(
      fmt::format("{}: {}, {}; {} with comments, and a summary in the section header\n",
                  options.out, counted(copy.frames, "frame"),
                  counted(annotations.findings, "finding"), counted(copy.commented, "frame")),
      taken);
  if (copy.commented > 0)
    print_report("To list them in Wireshark: frame.comment contains \"longwire\"\n", taken);
  if (copy.beyond > 0)
    print_report(
        fmt::format("{} {} left out: a frame gets at most {}\n", counted(copy.beyond, "comment"),
                    verb(copy.beyond, "is", "are"), capture::kMostComments),
        taken);
  if (copy.unholdable > 0)
    print_report(
        fmt::format("{} {} left out: simple packet blocks hold none; the summary "
                    "names their findings\n",
                    counted(copy.unholdable, "comment"), verb(copy.unholdable, "is", "are")),
        taken);
  if (annotations.beyond > 0)
    print_report(fmt::format("{} further anomalies have no comment: at most {} are kept\n",
                             annotations.beyond, analysis::FindingLog::kMost),
                 taken);
}

ExitCode annotate(const AnnotateOptions& options) {
  const auto annotations = analyse_capture(options);
  if (!annotations) return print_error(annotations.error());
  auto out = OutputFile::open(options.out, OutputFile::Mode::whole);
  if (!out) return print_error(out.error());
  const auto copy = capture::copy_with_comments(place_of(options.input.files[0]).file,
                                                annotations->summary, annotations->comments, *out);
  if (!copy) return print_error(copy.error());
  report_at_end(out->close());
  print_result(options, *annotations, *copy);
  // The analysis reads more of a frame than the copy, and may end before it.
  if (annotations->damage) return print_error(*annotations->damage);
  return copy->damage ? print_error(*copy->damage) : ExitCode::done;
}

ExitCode run_annotate(AnnotateOptions& options) {
  const NamedFile in{"IN", place_of(options.in).file};
  if (const auto checked = check_outputs({in}, {{"OUT", options.out}}); !checked)
    return print_error(checked.error());
  std::optional<SpooledInput> spooled;
  options.input.files = {options.in};
  if (options.in == "-") {
    auto copied = SpooledInput::read();
    if (!copied) return print_error(copied.error());
    spooled.emplace(std::move(*copied));
    options.input.files = {spooled->path()};
  }
  return annotate(options);
}

}  // namespace

app::Command annotate_command() {
  auto options = std::make_shared<AnnotateOptions>();
  app::Command command{
      .name = "annotate",
      .help = "Copy a capture with each finding as a packet comment, for Wireshark",
      .examples = R"(roce-dissect annotate capture.pcap annotated.pcapng
tcpdump -c 1000 -i eth1 -w - udp port 4791 | roce-dissect annotate - - | tshark -r - -z expert)",
      .notes =
          R"(Frames, interfaces, time stamps and comments of the capture stay as they are. The comments
begin with "longwire:" and contain a display filter for the packets of their finding; the explanation
of the capture is in the section header (Wireshark: Statistics, Capture File Properties).)",
      .run = [options] { return run_annotate(*options); },
  };
  command.options
      .add("IN", app::text(options->in), "",
           "pcap or pcapng, FILE@INTERFACE: findings of one of its interfaces; - for standard "
           "input, "
           "which is copied to a file in TMPDIR first")
      .required();
  command.options.add("OUT", app::text(options->out), "", "the copy, pcapng; - is standard output")
      .required();
  add_reading_options(command.options, options->input);
  add_where_option(command.options, options->input.window);
  add_points_option(command.options, options->input.points);
  add_link_rate_option(command.options, options->input.link_rate);
  return command;
}

}  // namespace lw::dissect
