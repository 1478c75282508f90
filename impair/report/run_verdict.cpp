// SPDX-License-Identifier: BSD-3-Clause
#include "impair/report/run_verdict.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "core/quantity.h"
#include "impair/limits.h"

namespace lw::impair {
namespace {

constexpr const char* kMtuRemedy =
    "raise the MTU as root: ip link set INTERFACE mtu BYTES (veth: at both ends; a second VLAN tag "
    "needs 4 more)";
constexpr const char* kInterfaceRemedy =
    "an interface drops what it has refused for 20 ms: its queue is full, or, of a veth, the far "
    "end's MTU is smaller than the frame: compare both with ip link show";
constexpr const char* kReceiveRemedy =
    "send less, give the box cores of its own (--cores 2, --core), or make the kernel's backlog "
    "longer: sysctl net.core.netdev_max_backlog";
constexpr const char* kRoomRemedy =
    "ask for more in [capacity]: a higher rate, a smaller smallest_frame, or reserve";
constexpr const char* kEgressRemedy = "the port or the peer behind it takes frames too slowly";

std::uint64_t dropped(const emulator::Account& account, emulator::ResourceDrop want) {
  return account.dropped_for_resource[static_cast<std::size_t>(want)].frames;
}

/// The losses of a port before the box received them, and after it had sent them.
void add_port(std::vector<OwnLoss>& losses, const PortReport& port) {
  losses.push_back({.place = port.side,
                    .how = "before it received them",
                    .lost = port.unseen(),
                    .frames = port.received + port.unseen(),
                    .first = port.unseen_times.first,
                    .last = port.unseen_times.last,
                    .remedy = port.too_long > 0 && port.missed + port.no_buffer == 0
                                  ? "raise the profile's largest_frame"
                                  : kReceiveRemedy});
  losses.push_back({.place = port.side,
                    .how = "after it had sent them",
                    .lost = port.unsent(),
                    .frames = port.sent + port.unsent(),
                    .first = port.unsent_times.first,
                    .last = port.unsent_times.last,
                    .remedy = port.unsent_too_long > 0 ? kMtuRemedy : kInterfaceRemedy});
}

/// Frames that no rule dropped: for want of room, a buffer or a way out.
void add_direction(std::vector<OwnLoss>& losses, const DirectionReport& direction) {
  using enum emulator::ResourceDrop;
  const emulator::Account& account = direction.accounting.direction;
  const emulator::Amount came = account.received + account.created;
  const std::uint64_t blocked = dropped(account, egress_full);
  losses.push_back({.place = account.name,
                    .how = "for want of room or a buffer",
                    .lost = dropped(account, no_room) + dropped(account, no_buffer),
                    .frames = came.frames,
                    .first = direction.lost_times.first,
                    .last = direction.lost_times.last,
                    .remedy = kRoomRemedy});
  losses.push_back({.place = account.name,
                    .how = "for want of a way out",
                    .lost = blocked,
                    .frames = came.frames,
                    .first = direction.lost_times.first,
                    .last = direction.lost_times.last,
                    .remedy = kEgressRemedy});
}

std::size_t count_if(const Report& report, auto broken) {
  return static_cast<std::size_t>(std::ranges::count_if(report.directions, broken));
}

/// The checks of stages and events.
struct Audits {
  std::uint64_t all = 0, broken = 0, too_few = 0;

  void add(const std::vector<emulator::Check>& checks) {
    for (const emulator::Check& check : checks) {
      ++all;
      broken += check.holds() ? 0 : 1;
      too_few += check.holds() && !check.enough() ? 1 : 0;
    }
  }
};

Audits audits_of(const Report& report) {
  Audits audits;
  for (const DirectionReport& direction : report.directions) {
    for (const StagesReport& stages : direction.stages) audits.add(stages.checks);
    if (direction.events.hits.packets == 0) continue;
    ++audits.all;
    audits.broken += direction.events.hits.holds() ? 0 : 1;
  }
  for (const EndedAudit& ended : report.ended_audits) audits.add(ended.checks);
  for (const RunAudit& audit : report.run_audits) audits.add(audit.checks);
  audits.all += report.further_audits.audits;
  audits.broken += report.further_audits.failed;
  return audits;
}

void observe_audits(Judge& judge, const Report& report) {
  const Audits audits = audits_of(report);
  if (audits.all == 0) return;
  Observation seen{
      .name = "audits",
      .value = static_cast<double>(audits.broken),
      .text = fmt::format("{} of {} checks of stages hold", audits.all - audits.broken, audits.all),
      .count = audits.all,
      .broken = "see the lines that do not hold"};
  if (audits.too_few == audits.all)
    seen.text = fmt::format("{} checks of stages have too few frames to tell", audits.all);
  judge.add(seen);
}

/// Counts of a kind that must be 0.
void observe_count(Judge& judge, const char* name, std::uint64_t count, std::string none,
                   std::string some, std::uint64_t of) {
  judge.add({.name = name,
             .value = static_cast<double>(count),
             .text = count == 0 ? std::move(none) : std::move(some),
             .count = of});
}

void observe_directions(Judge& judge, const Report& report) {
  std::uint64_t frames = 0;
  for (const DirectionReport& each : report.directions)
    frames += each.accounting.direction.received.frames;
  observe_count(judge, "accounts",
                count_if(report, [](const auto& each) { return !each.accounting.holds(); }),
                "every frame is accounted for",
                "the accounts do not add up: see --json for every figure", frames);
  observe_count(
      judge, "releases", count_if(report, [](const auto& each) { return !each.none_left_early(); }),
      "no frame left before it was due",
      "frames left before they were due: see the smallest release error in --json", frames);
}

/// Largest share of late frames that is no failure.
constexpr double kMostLate = 0.01;
constexpr const char* kLateRemedy =
    "give the box cores of its own (--core, --cores 2) and --idle spin";

/// Of ports without stamps, how long frames may have waited before they were received, which their
/// lateness does not count; empty: nothing.
std::string unseen_wait_text(const Report& report) {
  std::int64_t most = 0;
  for (const DirectionReport& each : report.directions)
    if (each.arrivals && !each.arrivals->stamped)
      most = std::max(most, each.arrivals->wait.maximum);
  if (most == 0) return {};
  return fmt::format("; before that, frames waited at most {} in ports without stamps",
                     format_duration(Duration{most}));
}

/// How late this machine sent frames, in real time.
void observe_late_frames(Judge& judge, const Report& report) {
  std::uint64_t late = 0, sent = 0;
  for (const DirectionReport& each : report.directions) {
    late += each.late_frames;
    sent += each.accounting.direction.sent.frames;
  }
  if (sent == 0 && !judge.expects("late")) return;
  const double share = sent == 0 ? 0 : static_cast<double>(late) / static_cast<double>(sent);
  judge.add({.name = "late",
             .value = share,
             .text = (late == 0 ? std::string("this box sent no frame late")
                                : fmt::format("this box sent {} of {} frames ({}) late",
                                              format_count(late), format_count(sent),
                                              format_share(late, sent))) +
                     unseen_wait_text(report),
             .count = sent,
             .broken = "their delays were longer than the profile's by more than 5 %, at least "
                       "200 us: it is no effect of the path",
             .remedy = kLateRemedy,
             .noted = share <= kMostLate});
}

/// How late this machine was with steps of the scenario, in real time.
void observe_late_steps(Judge& judge, const ScenarioReport& scenario) {
  if (scenario.done == 0 && !judge.expects("step_lateness")) return;
  judge.add({.name = "step_lateness",
             .value = static_cast<double>(scenario.latest.count()),
             .text = fmt::format("this box was {} late with a step of the scenario at most",
                                 format_duration(scenario.latest)),
             .count = scenario.done,
             .remedy = kLateRemedy,
             .noted = scenario.latest <= kLatestStep});
}

void observe_scenario(Judge& judge, const ScenarioReport& scenario) {
  std::uint64_t undone = scenario.failed;
  for (const OverdueAct& act : scenario.overdue) undone += act.steps;
  observe_count(
      judge, "scenario", undone,
      fmt::format("{} of {} steps are in force", scenario.done, scenario.all),
      fmt::format("{} of {} steps failed, or were due and not done", undone, scenario.all),
      scenario.all);
}

void observe_ports(Judge& judge, const Report& report) {
  if (report.ports.empty()) return;
  std::uint64_t losses = 0, errors = 0, frames = 0;
  for (const PortReport& port : report.ports) {
    losses += port.link_losses.count;
    errors += port.errors;
    frames += port.received;
  }
  observe_count(judge, "links", losses, "no port lost its link",
                fmt::format("a port lost its link {} time{}", losses, losses == 1 ? "" : "s"), 2);
  observe_count(judge, "errors", errors, "no port counted an error",
                fmt::format("{} frames in error at the ports", format_count(errors)), frames);
}

void observe_records(Judge& judge, const Report& report) {
  if (!report.ledger && report.captures.empty()) return;
  std::uint64_t written = 0, skipped = 0, lost = 0;
  const auto add = [&](const auto& file, std::uint64_t count) {
    written += count;
    skipped += file.skipped;
    lost += file.lost;
  };
  if (report.ledger) add(*report.ledger, report.ledger->records);
  for (const CaptureReport& capture : report.captures) add(capture, capture.frames);
  const std::uint64_t missing = skipped + lost;
  Observation records{.name = "records",
                      .value = static_cast<double>(missing),
                      .text = "ledger and recordings are complete",
                      .count = written + missing,
                      .remedy = lost > 0
                                    ? "make room on the disk"
                                    : "write to a faster disk, or give the box cores of its own"};
  if (missing > 0)
    records.text = fmt::format(
        "this box lost {} of {} records of ledger and recordings ({}): {} skipped, as the writer "
        "was behind, {} that a file could not take",
        format_count(missing), format_count(records.count), format_share(missing, records.count),
        format_count(skipped), format_count(lost));
  judge.add(records);
}

void observe_length(Judge& judge, const Report& report) {
  Observation length{.name = "reached",
                     .value = 1,
                     .text = fmt::format("ran for {}", format_duration(report.length())),
                     .count = 1};
  if (report.duration) {
    length.asked = format_set_duration(*report.duration);
    length.asked_by = "--duration";
  }
  if (report.stopped) {
    const bool ends = report.duration || report.command == "replay";
    length.text = "a signal ended it: it " + length.text;
    if (ends)
      length.value = report.duration
                         ? std::min(0.999, static_cast<double>(report.length().count()) /
                                               static_cast<double>(report.duration->count()))
                         : 0;
  }
  judge.add(length);
}

/// The share of the frames that rules dropped; none: they dropped nothing.
std::optional<double> dropped_by_rules(const Report& report) {
  std::uint64_t dropped = 0, came = 0;
  for (const DirectionReport& each : report.directions) {
    dropped += each.accounting.direction.dropped_by_rule.frames;
    came += each.accounting.direction.received.frames;
  }
  if (dropped == 0) return std::nullopt;
  return static_cast<double>(dropped) / static_cast<double>(came);
}

}  // namespace

Machine machine_of(const Report& report) {
  Machine machine{.stalls = report.stalls, .elapsed = report.length()};
  for (const PortReport& port : report.ports) add_port(machine.losses, port);
  for (const DirectionReport& direction : report.directions)
    add_direction(machine.losses, direction);
  return machine;
}

void observe_run(Judge& judge, const Report& report) {
  observe(judge, machine_of(report), "this box", dropped_by_rules(report));
  observe_directions(judge, report);
  observe_audits(judge, report);
  if (report.scenario) observe_scenario(judge, *report.scenario);
  observe_ports(judge, report);
  observe_records(judge, report);
  observe_length(judge, report);
  if (report.command != "run") return;
  observe_late_frames(judge, report);
  observe_late_steps(judge, report.scenario.value_or(ScenarioReport{}));
}

Verdict verdict_of(const Report& report) {
  Judge judge(kImpairQuestions, report.expected);
  observe_run(judge, report);
  return judge.finish();
}

}  // namespace lw::impair
