// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/report.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "core/counted.h"
#include "core/quantity.h"
#include "impair/report/rule_report.h"
#include "impair/report/run_verdict.h"

namespace lw::impair {

bool Report::accounts_hold() const noexcept {
  return std::ranges::all_of(directions,
                             [](const DirectionReport& d) { return d.accounting.holds(); });
}

bool Report::records_hold() const noexcept {
  const auto complete = [](const auto& file) { return file.missing() == 0; };
  return (!ledger || complete(*ledger)) && std::ranges::all_of(captures, complete);
}

bool Report::releases_hold() const noexcept {
  return std::ranges::all_of(directions, &DirectionReport::none_left_early);
}

bool Report::resources_hold() const noexcept {
  return std::ranges::all_of(directions, [](const DirectionReport& d) {
    return unasked_losses(d.accounting.direction).frames == 0;
  });
}

bool Report::ports_hold() const noexcept {
  return std::ranges::all_of(ports, [](const PortReport& port) {
    return port.unseen() + port.errors + port.unsent() == 0;
  });
}

bool Report::links_hold() const noexcept {
  return std::ranges::all_of(ports,
                             [](const PortReport& port) { return port.link_losses.count == 0; });
}

bool Report::stages_hold() const noexcept {
  const auto holds = [](const emulator::Check& check) { return check.holds(); };
  for (const DirectionReport& direction : directions) {
    if (!direction.events.hits.holds()) return false;
    for (const StagesReport& stages : direction.stages)
      if (!std::ranges::all_of(stages.checks, holds)) return false;
  }
  for (const EndedAudit& ended : ended_audits)
    if (!std::ranges::all_of(ended.checks, holds)) return false;
  for (const RunAudit& audit : run_audits)
    if (!std::ranges::all_of(audit.checks, holds)) return false;
  return further_audits.failed == 0;
}

std::string check_figure(double value, emulator::CheckUnit unit) {
  using emulator::CheckUnit;
  switch (unit) {
    case CheckUnit::share:
      return format_share(value);
    case CheckUnit::frames:
      return fmt::format("{} frames", format_number(value));
    case CheckUnit::nanoseconds:
      return format_duration(Duration{std::llround(value)});
    case CheckUnit::bits_per_second:
      return format_bit_rate(std::max(0.0, value));
    case CheckUnit::bytes:
      return format_bytes(std::max(0.0, value));
    case CheckUnit::chi_square:
      return fmt::format("chi-square {:.4g}", value);
  }
  return {};
}

namespace {

std::string frames(const emulator::Amount& amount) {
  return fmt::format("{:>12} {:<6}  {:>12}", amount.frames, noun_for(amount.frames, "frame"),
                     format_bytes(static_cast<double>(amount.bytes)));
}

/// Returns a line of the report; empty if no frame was counted.
std::string line(std::string_view what, const emulator::Amount& amount) {
  return amount.frames == 0 ? "" : fmt::format("  {:<22}{}\n", what, frames(amount));
}

std::string spread(std::string_view what, const Spread& spread) {
  if (spread.count == 0) return "";
  const auto text = [](std::int64_t ns) { return format_duration(Duration{ns}); };
  return fmt::format("  {:<22}p50 {}  p99 {}  p99.9 {}  max {}\n", what, text(spread.p50),
                     text(spread.p99), text(spread.p999), text(spread.maximum));
}

std::string account(const emulator::Account& account) {
  std::string text = fmt::format("  {:<22}{}\n", "received", frames(account.received));
  text += line("created", account.created);
  text += fmt::format("  {:<22}{}\n", "sent", frames(account.sent));
  text += line("consumed", account.consumed);
  text += line("dropped by rule", account.dropped_by_rule);
  for (std::size_t i = 0; i < emulator::kResourceDrops; ++i)
    text += line(fmt::format("dropped: {}", name_of(static_cast<emulator::ResourceDrop>(i))),
                 account.dropped_for_resource[i]);
  return text + line("in flight", account.in_flight);
}

std::string rule_line(const emulator::Account& rule) {
  if (rule.received.frames == 0) return "";
  const double lost =
      static_cast<double>(rule.dropped_by_rule.frames) / static_cast<double>(rule.received.frames);
  return fmt::format("    {:<20}{:>12} {}, {} dropped by it ({:.4f} %)\n", shown_name(rule.name),
                     rule.received.frames, noun_for(rule.received.frames, "frame"),
                     rule.dropped_by_rule.frames, lost * 100);
}

std::string check_text(const emulator::Check& check) {
  const auto of = [&](double value) { return check_figure(value, check.unit); };
  return fmt::format("{} {}, asked {}, bounds {} to {}: {}", check.what, of(check.seen),
                     of(check.asked), of(check.low), of(check.high),
                     !check.holds()   ? "DOES NOT HOLD"
                     : check.enough() ? "holds"
                                      : "too few frames to tell");
}

std::string check_line(const std::string& rule, const emulator::Check& check) {
  return fmt::format("    {:<20}{}\n", rule, check_text(check));
}

std::string stages(const StagesReport& report) {
  std::string text;
  for (const auto& check : report.checks) text += check_line(report.rule, check);
  for (const std::string& line : lines_of(report.stats).lines)
    text += fmt::format("    {:<20}{}\n", report.rule, line);
  return text;
}

std::string events(const EventsReport& report) {
  std::string text;
  for (const auto& event : report.outcomes)
    text += fmt::format("    event {:<14}{:>12} of {} happened\n", event.name, event.happened,
                        event.all);
  if (const emulator::EventHits& hits = report.hits; hits.packets > 0)
    text += fmt::format("    {:<20}{}, {} carried out, {} lost before: {}\n", "events fell on",
                        counted(hits.packets, "packet"), hits.carried_out, hits.lost_before,
                        hits.holds() ? "holds" : "DOES NOT HOLD");
  if (report.untracked)
    text += fmt::format("  {:<22}{:>12} to QPs beyond the {} that are tracked\n", "untracked",
                        report.untracked, emulator::Events::kTrackedQps);
  return text;
}

std::string arrivals(const ArrivalReport& report) {
  std::string text;
  if (report.stepped > 0)
    text +=
        fmt::format("  {:<22}{:>12} frames: the clock has stepped, their arrival is uncertain\n",
                    "stamped wrong", report.stepped);
  if (report.departures > 0)
    text += fmt::format("  {:<22}{:>12} frames by stamps, others when they were handed over\n",
                        "departure", report.departures);
  return text + spread("before that, at most", report.wait);
}

std::string direction(const DirectionReport& report) {
  std::string text =
      fmt::format("{}\n{}", report.accounting.direction.name, account(report.accounting.direction));
  for (const auto& rule : report.accounting.rules) text += rule_line(rule);
  for (const auto& each : report.stages) text += stages(each);
  text += events(report.events);
  if (report.accounting.fragments)
    text += fmt::format("  {:<22}{:>12} passed unchanged\n", "IP fragments",
                        report.accounting.fragments);
  if (report.accounting.truncated)
    text += fmt::format("  {:<22}{:>12} passed unchanged\n", "without a whole BTH",
                        report.accounting.truncated);
  text += spread("release error", report.release_error);
  text += spread("passing through took", report.pass_latency);
  return report.arrivals ? text + arrivals(*report.arrivals) : text;
}

std::string port_line(const PortReport& port) {
  std::string text;
  if (const LinkLosses& losses = port.link_losses; losses.count > 0)
    text +=
        fmt::format("{} port {}: lost its link {} time{}, {} without it\n", port.side, port.port,
                    losses.count, losses.count == 1 ? "" : "s", format_duration(losses.time));
  if (port.unseen() + port.errors > 0)
    text += fmt::format(
        "{} port {}: lost before they were read: {} missed by the device, {} for want of a "
        "buffer, {} longer than a buffer; {} in error\n",
        port.side, port.port, port.missed, port.no_buffer, port.too_long, port.errors);
  if (port.unsent() == 0) return text;
  text += fmt::format(
      "{} port {}: not sent: {} longer than the MTU of {} B, {} dropped by the "
      "interface\n",
      port.side, port.port, port.unsent_too_long, port.mtu, port.unsent_dropped);
  return text;
}

std::string lost_text(std::uint64_t lost) {
  return lost > 0 ? fmt::format(", {} LOST: the file could not be written", lost) : "";
}

/// Lists the first changes.
std::string changes(const Report& report) {
  constexpr std::size_t kMost = 20;
  const std::uint64_t all = report.changes.size() + report.further_changes;
  if (all == 0) return "";
  std::string text = fmt::format("{} change{} took effect:\n", all, all == 1 ? "" : "s");
  for (const Change& change :
       std::span(report.changes).first(std::min(kMost, report.changes.size())))
    text +=
        fmt::format("  {}; {}; {}; from frame {} west to east, {} east to west\n",
                    change.since_first ? "at " + format_duration(*change.since_first)
                                       : "before the first frame",
                    change_text(change), change.by, change.first_frames[0], change.first_frames[1]);
  if (all > kMost) text += fmt::format("  and {} more: see --json\n", all - kMost);
  return text;
}

/// Lists the checks of the configurations that ended: all that do not hold, and the first others.
std::string ended_audits(const Report& report) {
  constexpr std::size_t kMost = 20;
  std::string text;
  std::size_t shown = 0, left_out = 0;
  for (const EndedAudit& ended : report.ended_audits)
    for (const emulator::Check& check : ended.checks) {
      if (check.holds() && shown >= kMost) {
        ++left_out;
        continue;
      }
      ++shown;
      text +=
          fmt::format("  {} to {}, {}, {}: {}\n", format_duration(ended.begin),
                      format_duration(ended.end), ended.direction, ended.rule, check_text(check));
    }
  if (text.empty()) return "";
  if (left_out > 0) text += fmt::format("  and {} more that hold: see --json\n", left_out);
  if (report.further_audits.audits > 0)
    text += fmt::format("  and {} further audits, of which {} do not hold\n",
                        report.further_audits.audits, report.further_audits.failed);
  return "before the changes:\n" + text;
}

/// Lists the checks over the whole run of the rules that changed.
std::string run_audits(const Report& report) {
  std::string text;
  for (const RunAudit& audit : report.run_audits)
    for (const emulator::Check& check : audit.checks)
      text += fmt::format("  {}{}{}: {}\n", audit.direction, audit.rule.empty() ? "" : ", ",
                          audit.rule, check_text(check));
  return text.empty() ? "" : "over the whole run:\n" + text;
}

std::string scenario(const ScenarioReport& report) {
  std::string text = fmt::format("scenario: {} of {} steps", report.done, report.all);
  if (report.latest.count() > 0)
    text += fmt::format(", at most {} late", format_duration(report.latest));
  if (report.failed) text += fmt::format(", {} LEFT OUT", report.failed);
  for (const OverdueAct& act : report.overdue)
    text += fmt::format(", {} of {} were due and not done", act.steps, act.name);
  return text + "\n";
}

}  // namespace

void set_losses(Report& report, const Ports& ports, const std::array<LinkLosses, 2>& links,
                const OwnLossTimes& times) {
  report.ports = port_reports(ports, links, times);
  for (std::size_t i = 0; i < std::min(report.directions.size(), times.directions.size()); ++i)
    report.directions[i].lost_times = times.directions[i];
}

void add_changes(Report& report, const ChangeLog& log, const EndedAudits& ended, std::size_t most) {
  const std::vector<Change>& changes = log.changes();
  const std::vector<EndedAudit>& audits = ended.audits();
  const std::size_t older = changes.size() - std::min(most, changes.size());
  const std::size_t older_audits = audits.size() - std::min(most, audits.size());
  const auto from = [](const auto& all, std::size_t first) {
    return std::vector(all.begin() + static_cast<std::ptrdiff_t>(first), all.end());
  };
  report.changes = from(changes, older);
  report.further_changes = log.further() + older;
  report.ended_audits = from(audits, older_audits);
  report.further_audits = ended.further();
  report.run_audits = ended.sums().with(report.directions);
  report.further_audits.audits += older_audits;
  for (const EndedAudit& audit : std::span(audits).first(older_audits))
    report.further_audits.failed += !std::ranges::all_of(audit.checks, &emulator::Check::holds);
}

std::string capture_text(const CaptureReport& capture) {
  std::string text =
      fmt::format("capture {}: {}, {} skipped{}", capture.file, counted(capture.frames, "frame"),
                  capture.skipped, lost_text(capture.lost));
  if (capture.files > 1) text += fmt::format(", in {} files", capture.files);
  if (capture.removed > 0)
    text += fmt::format("; {} in files removed", counted(capture.removed, "frame"));
  return text + "\n";
}

std::string to_text(const Report& report) {
  std::string text;
  for (const auto& each : report.directions) text += direction(each);
  for (const auto& port : report.ports) text += port_line(port);
  if (report.stamps_backwards)
    text += fmt::format("{} stamps ran backwards: taken as the latest before them\n",
                        report.stamps_backwards);
  if (report.scenario) text += scenario(*report.scenario);
  text += changes(report) + ended_audits(report) + run_audits(report);
  if (report.ledger)
    text += fmt::format("ledger {}: {}, {} skipped{}\n", report.ledger->file,
                        counted(report.ledger->records, "record"), report.ledger->skipped,
                        lost_text(report.ledger->lost));
  for (const CaptureReport& capture : report.captures) text += capture_text(capture);
  return text;
}

const FigureTable& LedgerReport::figures() {
  using Row = FigureOf<LedgerReport>;
  static constexpr Figure kRows[] = {
      Row::of<&LedgerReport::file>("file", "Path of the file."),
      Row::of<&LedgerReport::records>("records", "Records written."),
      Row::of<&LedgerReport::skipped>("skipped", "Records skipped, as the writer was behind."),
      Row::of<&LedgerReport::missing>("missing", "Records that the file lacks.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& OverdueAct::figures() {
  using Row = FigureOf<OverdueAct>;
  static constexpr Figure kRows[] = {Row::of<&OverdueAct::name>("name", "Name of the act."),
                                     Row::of<&OverdueAct::steps>("steps", "Number of its steps.")};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& ScenarioReport::figures() {
  using Row = FigureOf<ScenarioReport>;
  static constexpr Figure kRows[] = {
      Row::of<&ScenarioReport::done>("done", "Steps carried out."),
      Row::of<&ScenarioReport::failed>("failed", "Steps that failed."),
      Row::of<&ScenarioReport::all>("all", "All steps."),
      Row::of<&ScenarioReport::latest>("latest_ns", "Largest delay of a step.", Unit::ns),
      Row::of<&ScenarioReport::overdue>("overdue",
                                        "Acts with steps that were due and have not taken effect.")
          .if_any()};
  static constexpr FigureTable kTable{{}, kRows};
  return kTable;
}

const FigureTable& Report::checks() {
  using Row = FigureOf<Report>;
  static constexpr Figure kRows[] = {
      Row::of<&Report::accounts_hold>("identity_holds", "True if every frame is accounted for."),
      Row::of<&Report::stages_hold>("stages_hold",
                                    "True if the seen shares agree with the asked ones."),
      Row::of<&Report::releases_hold>("releases_hold", "True if no frame left before it was due."),
      Row::of<&Report::resources_hold>("resources_hold",
                                       "True if no frame was lost for lack of a resource."),
      Row::of<&Report::ports_hold>("ports_hold", "True if the ports lost nothing."),
      Row::of<&Report::links_hold>("links_hold", "True if no link was lost."),
      Row::of<&Report::records_hold>("records_hold", "True if ledger and capture are complete.")};
  static constexpr FigureTable kTable{"What was checked.", kRows};
  return kTable;
}

const FigureTable& Report::figures() {
  using Row = FigureOf<Report>;
  static constexpr Figure kRows[] = {
      Row::of<&Report::command>("command", "run or replay."),
      Row::of<&Report::profile>("profile", "Name of the profile."),
      Row::of<&Report::seed>("seed", "Random seed."),
      Row::of<&Report::seconds>("seconds", "Duration; of a replay, in the time of the capture.",
                                Unit::s),
      Row::with_table<std::identity{}, checks>(),
      Row::of<&Report::directions>("directions", "Both directions."),
      Row::of<&Report::ports>("ports", "The ports; not of a replay.").if_any(),
      Row::of<&Report::scenario>("scenario", "Steps of the scenario."),
      Row::of<&Report::changes>("changes", "Changes of keys and links that took effect, in order."),
      Row::of<&Report::further_changes>("further_changes", "Changes beyond those listed.").if_any(),
      Row::of<&Report::ended_audits>("ended_audits",
                                     "Audits of the configurations that changes have ended.")
          .if_any(),
      Row::of<[](const Report& report) {
        return report.further_audits.audits == 0 ? nullptr : &report.further_audits;
      }>("further_audits", "Audits of such configurations beyond those listed."),
      Row::of<&Report::run_audits>(
          "run_audits",
          "Audits over the whole run, of each direction and of each rule "
          "that changed; without changes, the checks are of the whole run.")
          .if_any(),
      Row::of<[](const Report& report) {
        return report.captures.empty() ? nullptr : &report.captures.back();
      }>("capture", "The newest recording of both sides."),
      Row::of<[](const Report& report) {
        const std::size_t earlier = report.captures.empty() ? 0 : report.captures.size() - 1;
        return std::span(report.captures).first(earlier);
      }>("earlier_captures", "Recordings that ended before it.")
          .if_any(),
      Row::of<&Report::ledger>("ledger", "The ledger."),
      Row::of<machine_of>("machine", "What this machine lost and delayed."),
      Row::of<&Report::held_up>("held_up_ns", "Longest pause of forwarding for a query or change.",
                                Unit::ns),
      Row::of<&Report::stamps_backwards>(
          "stamps_backwards",
          "Frames of the capture with an earlier time stamp than the one before.", Unit::frames)
          .if_any(),
      Row::of<&Report::not_captured>("not_captured",
                                     "Replay: received frames of the run that the capture lacks.",
                                     Unit::frames)
          .if_any()};
  static constexpr FigureTable kTable{"Report of a run or replay.", kRows};
  return kTable;
}

}  // namespace lw::impair
