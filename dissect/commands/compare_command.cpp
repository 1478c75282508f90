// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "app/verdicts.h"
#include "capture/reader.h"
#include "core/output.h"
#include "core/quantity.h"
#include "dissect/commands/commands.h"
#include "dissect/compare/compare_format.h"
#include "dissect/compare/expectation.h"
#include "dissect/fields/capture_question.h"
#include "dissect/fields/condition.h"
#include "dissect/fields/frame_source.h"
#include "dissect/report/compare_page.h"
#include "dissect/report/path_pictures.h"
#include "report/figures/json.h"

namespace lw::dissect {
namespace {

struct CompareOptions {
  std::string near, far, filter, points;
  FrameReading reading;
  Asked asked;
  app::Verdicts verdicts{compare_questions()};
  std::string ledger, html;
  LedgerEntries entries;  // of the ledger
  std::size_t most_flows = kMostFlows;
  bool json = false, csv = false, across_flows = false, two_clocks = false;
};

/// Two capture points, and the comparison of their frames.
struct PointPair {
  CapturePoint near, far;
  IdentityRule rule;
  Names names;
  Comparison comparison;

  explicit PointPair(std::size_t most_flows) : names(most_flows) {}
};

Result<void> read_points(PointPair& points, const std::string& near, const std::string& far,
                         const CompareOptions& options) {
  auto at_near =
      read_point(near, options.filter, points.names, points.rule, options.reading, options.points);
  if (!at_near) return std::unexpected(at_near.error());
  // Two clocks differ by an unknown time: far is read as a whole, and what near lacks of it is
  // outside of the common span.
  FrameReading at_once = options.reading;
  at_once.window = options.two_clocks
                       ? TimeWindow{.where = options.reading.window.where}
                       : options.reading.window.absolute(at_near->begin.value_or(Instant{}));
  auto at_far = read_point(far, options.filter, points.names, points.rule, at_once, options.points);
  if (!at_far) return std::unexpected(at_far.error());
  for (const std::string& name : at_near->unknown)
    if (at_far->unknown.contains(name))
      return fail(
          fmt::format("--points: \"{}\" is no interface and no file of either capture", name));
  points.near = std::move(*at_near);
  points.far = std::move(*at_far);
  return {};
}

/// Whether a window leaves out frames by their time: then the points begin and end apart.
bool bounds_time(const TimeWindow& window) {
  if (window.from || window.to) return true;
  return window.where &&
         (window.where->reads("frame.time_relative") || window.where->reads("frame.time_epoch") ||
          window.where->reads("frame.number"));
}

/// Reads both points by `rule` and compares them.
Result<std::unique_ptr<PointPair>> compare_by(const IdentityRule& rule, const std::string& near,
                                              const std::string& far, const CompareOptions& options,
                                              Senders senders) {
  auto points = std::make_unique<PointPair>(options.most_flows);
  points->rule = rule;
  if (auto read = read_points(*points, near, far, options); !read)
    return std::unexpected(read.error());
  points->comparison = compare_points(
      points->near, points->far, points->names,
      {.senders = senders,
       .judges_span = bounds_time(options.reading.window) ||
                      (senders != Senders::near && place_of(near).file != place_of(far).file),
       .across_flows = options.across_flows,
       .frees_keys = options.ledger.empty()});
  return points;
}

/// Whether most frames that both points saw were changed on the way: then bad ICRCs mean damage.
bool is_mostly_changed(const Comparison& comparison) {
  const std::uint64_t changed = comparison.near_to_far.changed + comparison.far_to_near.changed;
  return 2 * changed > comparison.matching.matches.size();
}

/// Reads both points, and again by content if that is needed and possible.
Result<std::unique_ptr<PointPair>> compare_places(const std::string& near, const std::string& far,
                                                  const CompareOptions& options, Senders senders) {
  auto points = compare_by({}, near, far, options, senders);
  if (!points) return points;
  const IdentityRule rule = rule_for((*points)->near, (*points)->far);
  if (rule.by_icrc || place_of(near).file == "-" || place_of(far).file == "-") return points;
  points->reset();  // frees its memory
  points = compare_by(rule, near, far, options, senders);
  if (!points || rule.judges_icrcs || !is_mostly_changed((*points)->comparison)) return points;
  points->reset();
  return compare_by({}, near, far, options, senders);
}

/// The changes of one direction, found in the files.
Result<void> read_changes(Changes& changes, const DirectionResult& result, const PointPair& points,
                          bool there, const CompareOptions& options) {
  const std::string &near = points.near.file, &far = points.far.file;
  FrameReading whole = options.reading;  // frames are found by their numbers
  whole.window = {};
  auto found = find_changes(result, points.names.forms, there ? near : far, there ? far : near,
                            options.filter, whole);
  if (!found) return std::unexpected(found.error());
  changes = std::move(*found);
  return {};
}

/// Checks one direction of the comparison against the ledger; nothing without a ledger. West is
/// near.
std::optional<LedgerFindings> findings_of(const CompareOptions& options, const PointPair& points,
                                          emulator::Direction direction, bool goes_far) {
  if (options.ledger.empty()) return std::nullopt;
  return check_ledger(options.entries, static_cast<std::size_t>(direction), points.near.records,
                      points.far.records, points.names.flows, points.comparison.matching, goes_far);
}

/// A report, and with --html its pictures.
struct Compared {
  CompareReport report;
  report::Json pictures = report::Json::array();
};

/// `there`: the name, "near > far", not the way of the frames between the two points.
void add_picture(Compared& compared, const PointPair& points, bool goes_far, bool there) {
  const DirectionResult& result =
      goes_far ? points.comparison.near_to_far : points.comparison.far_to_near;
  if (!result.seen()) return;
  const std::vector<StampStep> steps = stamp_steps(points.comparison.steps);
  const std::vector<roce::FlowKey> flows = points.names.flows.keys();
  compared.pictures.push_back(direction_picture(
      {points.near.records, Records(points.far.records, steps), points.comparison, flows}, goes_far,
      there ? "near > far" : "far > near"));
}

Result<Compared> compare_captures(const CompareOptions& options) {
  auto points = compare_places(options.near, options.far, options,
                               options.two_clocks ? Senders::both_unsynchronized : Senders::both);
  if (!points) return std::unexpected(points.error());
  Compared compared{.report = {.asked = options.asked}};
  CompareReport& report = compared.report;
  const Comparison& found = (*points)->comparison;
  if (auto done = read_changes(report.there, found.near_to_far, **points, true, options); !done)
    return std::unexpected(done.error());
  if (auto done = read_changes(report.back, found.far_to_near, **points, false, options); !done)
    return std::unexpected(done.error());
  report.ledger_there = findings_of(options, **points, emulator::Direction::west_to_east, true);
  report.ledger_back = findings_of(options, **points, emulator::Direction::east_to_west, false);
  if (!options.html.empty())
    for (const bool there : {true, false}) add_picture(compared, **points, there, there);
  report.near = std::move((*points)->near);
  report.far = std::move((*points)->far);
  report.rule = (*points)->rule;
  report.comparison = std::move((*points)->comparison);
  return compared;
}

/// Error: the file lacks the interfaces of a recording of roce-impair.
Result<void> check_recording(const std::string& file) {
  const std::string needs = "compare needs FAR too: only ";
  if (file == "-") return fail(needs + "a file can hold both ends, as it is read several times");
  if (!place_of(file).interfaces.empty())
    return fail(needs + "a whole recording of roce-impair's holds both ends");
  auto reader = capture::Reader::open(file);
  if (!reader) return std::unexpected(reader.error());
  (void)reader->next();
  const auto& found = reader->interfaces();
  for (const std::string_view name : capture::kRecordingInterfaces)
    if (std::ranges::find(found, name, &capture::Interface::name) == found.end())
      return fail(
          fmt::format("{}a recording of roce-impair's (--pcap) holds both ends, and {} "
                      "has no interface \"{}\"",
                      needs, file, name));
  return {};
}

void add_frames(CapturePoint& end, const CapturePoint& point) {
  end.frames += point.frames;
  end.roce += point.roce;
  end.unidentified += point.unidentified;
  end.begin = point.begin;
  if (point.damage) end.damage = point.damage;
}

/// Compares one direction, from the interface where its frames came in to that where they went out.
Result<Comparison> compare_direction(const CompareOptions& options, std::size_t in,
                                     Compared& compared) {
  CompareReport& report = compared.report;
  const auto place = [&](std::size_t interface) {
    return fmt::format("{}@{}", options.near, capture::kRecordingInterfaces[interface]);
  };
  auto points = compare_places(place(in), place(in + 1), options, Senders::near);
  if (!points) return std::unexpected(points.error());
  DirectionResult& result = (*points)->comparison.near_to_far;
  const bool there = in == 0;
  if (auto done = read_changes(there ? report.there : report.back, result, **points, true, options);
      !done)
    return std::unexpected(done.error());
  (there ? report.ledger_there : report.ledger_back) = findings_of(
      options, **points,
      there ? emulator::Direction::west_to_east : emulator::Direction::east_to_west, true);
  if (!options.html.empty()) add_picture(compared, **points, true, there);
  add_frames(there ? report.near : report.far, (*points)->near);
  add_frames(there ? report.far : report.near, (*points)->far);
  if (!(*points)->rule.by_icrc) report.rule = (*points)->rule;
  return std::move((*points)->comparison);
}

/// Compares the two ends of a recording: west is near, east is far; each interface has one
/// direction.
Result<Compared> compare_recording(const CompareOptions& options) {
  if (auto holds = check_recording(options.near); !holds) return std::unexpected(holds.error());
  Compared compared{.report = {.asked = options.asked}};
  CompareReport& report = compared.report;
  report.near.file = options.near + " west";
  report.far.file = options.near + " east";
  auto there = compare_direction(options, 0, compared);
  if (!there) return std::unexpected(there.error());
  auto back = compare_direction(options, 2, compared);
  if (!back) return std::unexpected(back.error());
  report.comparison.near_to_far = std::move(there->near_to_far);
  report.comparison.far_to_near = std::move(back->near_to_far);
  report.comparison.changes = joined_changes(std::move(there->changes), back->changes);
  report.far.damage.reset();  // the damage of near: both are the same file
  return compared;
}

void observe_report(Judge& judge, const CompareReport& report) {
  observe_directions(judge, report.comparison);
  if (report.ledger_there) observe_ledger(judge, "near_to_far", *report.ledger_there);
  if (report.ledger_back) observe_ledger(judge, "far_to_near", *report.ledger_back);
  observe_capture(judge, report.near.damage ? report.near.damage : report.far.damage,
                  report.near.frames + report.far.frames);
}

Result<void> check_files(const CompareOptions& options) {
  if (options.ledger == "-" && (options.near == "-" || options.far == "-"))
    return fail("--ledger: standard input is a capture already");
  return check_outputs({{"NEAR", place_of(options.near).file},
                        {"FAR", place_of(options.far).file},
                        {"--ledger", options.ledger}},
                       {options.verdicts.junit(), {"--html", options.html}});
}

/// Writes the page of --html.
void write_page(const CompareOptions& options, Compared&& compared, const std::string& line) {
  std::vector<std::string> files{options.near};
  if (!options.far.empty()) files.push_back(options.far);
  const CapturePoint& near = compared.report.near;
  report_at_end(write_file(options.html,
                           compare_page({.files = std::move(files),
                                         .begin = near.begin ? utc_text(near.first_stamp()) : "",
                                         .line = line,
                                         .text = comparison_text(compared.report),
                                         .pictures = std::move(compared.pictures)})));
}

ExitCode run_compare(CompareOptions& options) {
  if (auto checked = options.verdicts.check(kComparisonOutput); !checked)
    return print_error(checked.error());
  if (auto checked = check_files(options); !checked) return print_error(checked.error());
  if (!options.ledger.empty()) {
    auto read = read_ledger(options.ledger);
    if (!read) return print_error(read.error());
    options.entries = std::move(*read);
  }
  auto compared = options.far.empty() ? compare_recording(options) : compare_captures(options);
  if (!compared) return print_error(compared.error());
  const CompareReport* const report = &compared->report;
  Judge judge = options.verdicts.judge();
  observe_report(judge, *report);
  const std::string json = options.verdicts.judged(
      judge, options.json || !options.html.empty(),
      [&] { return report::json_line(kComparisonOutput, *report); }, "report", &kComparisonOutput);
  print_out(options.json  ? json
            : options.csv ? comparison_csv(*report)
                          : options.verdicts.text() + comparison_text(*report));
  for (const CapturePoint* point : {&report->near, &report->far})
    if (point->damage) print_error(*point->damage);
  if (!options.html.empty()) write_page(options, std::move(*compared), json);
  return options.verdicts.finish("roce-dissect compare");
}

}  // namespace

app::Command compare_command() {
  auto options = std::make_shared<CompareOptions>();
  app::Command command{
      .name = "compare",
      .help = "Compare two capture points of a path: loss, order, one-way delay",
      .examples = R"(roce-dissect compare near.pcapng far.pcapng --delay 1903.5us --loss 0.1%
roce-dissect compare recording.pcapng  # of roce-impair run --pcap: both ends
roce-dissect compare near.pcapng far.pcapng --expect 'loss<=0.2%' --expect 'p99<=1.91ms' --junit r.xml
roce-dissect compare near.pcapng far.pcapng --two-clocks --html compare.html
roce-dissect compare rec.pcapng --ledger ledger.jsonl  # does the ledger explain what happened?
roce-dissect compare both.pcapng@eth1 both.pcapng@eth2)",
      .check = [](const app::Given& given) -> Result<void> {
        if (given.has("--two-clocks") && !given.has("FAR"))
          return fail("--two-clocks needs FAR: a recording of roce-impair has one clock");
        if (given.has("--asymmetry") && !given.has("--two-clocks"))
          return fail("--asymmetry goes with --two-clocks: one clock needs no premise");
        if (given.has("--points") && !given.has("FAR"))
          return fail("--points needs FAR: a recording of roce-impair says what its points are");
        return {};
      },
      .run = [options] { return run_compare(*options); },
  };
  app::Options& list = command.options;
  list.add("NEAR", app::text(options->near), "",
           "capture of one end, FILE or FILE@INTERFACE; - for standard input")
      .required();
  list.add("FAR", app::text(options->far), "",
           "capture of the other end, by a synchronized clock (or see --two-clocks); not needed "
           "with a recording of "
           "roce-impair");
  list.add_flag("--json", options->json, "one line of JSON");
  list.add_flag("--csv", options->csv, "a line of CSV per direction").excludes("--json");
  list.add("--delay", app::parsed(parse_duration, options->asked.delay), "TIME",
           "configured one-way delay: 1903.5us");
  list.add("--loss", app::parsed(parse_probability, options->asked.loss), "SHARE",
           "configured loss: 0.1%");
  list.add_flag("--two-clocks", options->two_clocks,
                "the points have clocks of their own: estimate offset and drift from both "
                "directions, as if their shortest delays were equal");
  list.add("--asymmetry", app::parsed(parse_duration, options->asked.asymmetry), "TIME",
           "with --two-clocks: the most by which the shortest delays of the directions differ, of "
           "which frames show nothing; half of it is in the offset (default: said to be 0)");
  options->verdicts.add_options(list);
  list.add("--html", app::text(options->html), "FILE",
           "web page: verdict, delays, losses and outages over time, per flow, lost frames");
  list.add("--ledger", app::text(options->ledger), "FILE",
           "roce-impair's ledger (JSON Lines): it must explain each difference, and each of its "
           "records must have one; NEAR is the west; - for standard input")
      .excludes("--two-clocks");
  list.add_flag("--across-flows", options->across_flows,
                "judge order over all frames of a direction, not of each flow");
  add_flow_limit(list, options->most_flows);
  list.add("--filter", app::text(options->filter), "FILTER",
           "only matching frames, in libpcap's (tcpdump's) syntax")
      .excludes("--ledger");
  add_window_options(list, options->reading.window);
  add_where_option(list, options->reading.window);
  add_moment_option(list, options->asked.time);
  add_port_option(list, options->reading.roce_ports);
  add_points_option(list, options->points);
  return command;
}

}  // namespace lw::dissect
