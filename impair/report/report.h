// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/figure.h"
#include "core/stalls.h"
#include "core/time.h"
#include "impair/datapath/direction_report.h"
#include "impair/datapath/ports.h"
#include "impair/record/change_log.h"
#include "impair/record/recorder.h"
#include "impair/report/ended_audits.h"

namespace lw::impair {

/// The ledger file that a run wrote.
struct LedgerReport {
  std::string file;
  std::uint64_t records = 0, skipped = 0, lost = 0;  // see CaptureReport
  [[nodiscard]] std::uint64_t missing() const noexcept { return skipped + lost; }
  static const FigureTable& figures();
};

/// An act of a scenario or a command, and how many of its steps were due but have not taken effect.
struct OverdueAct {
  std::string name;
  std::size_t steps = 0;

  static const FigureTable& figures();
};

/// Results of the steps of a scenario and of commands.
struct ScenarioReport {
  std::size_t done = 0, failed = 0, all = 0;  // steps
  Duration latest{};  // longest time from a step's due time until it took effect
  std::vector<OverdueAct> overdue = {};

  static const FigureTable& figures();
};

/// Results of a run or a replay.
struct Report {
  std::string command, profile;
  std::uint64_t seed = 0;
  double seconds = 0;  // real time, or the capture's
  std::vector<DirectionReport> directions = {};
  std::vector<PortReport> ports = {};
  std::optional<LedgerReport> ledger = {};
  std::vector<CaptureReport> captures = {};  // recordings, one after another
  std::optional<ScenarioReport> scenario = {};
  std::vector<Change> changes = {};   // that took effect
  std::uint64_t further_changes = 0;  // not listed: see ChangeLog
  std::vector<EndedAudit> ended_audits = {};
  EndedAudits::Further further_audits = {};
  std::vector<RunAudit> run_audits = {};  // of rules that changed, over the whole run
  /// Time for which forwarding stopped to gather this report.
  std::optional<Duration> held_up = {};
  Stalls stalls = {};                     // of the threads that forward
  std::optional<Duration> duration = {};  // that was asked for
  bool stopped = false;                   // a signal ended it
  std::uint64_t stamps_backwards = 0;  // frames with an earlier time stamp than their predecessor
  std::uint64_t not_captured = 0;      // replay: frames missing in a recording, by their numbers

  /// True if the accounting identity holds for every direction and rule.
  [[nodiscard]] bool accounts_hold() const noexcept;
  /// True if the statistics of each stage agree with its parameters, and each event was carried
  /// out.
  [[nodiscard]] bool stages_hold() const noexcept;
  /// True if no frame left too early. How late frames left depends on the machine, and is only
  /// shown.
  [[nodiscard]] bool releases_hold() const noexcept;
  /// True if no frame was lost because the program had no room, no output or no buffer for it.
  /// Frames lost by link changes of the scenario or at the end of a run do not count.
  [[nodiscard]] bool resources_hold() const noexcept;
  /// True if no record of the ledger and no frame of a recording is missing.
  [[nodiscard]] bool records_hold() const noexcept;
  /// True if no port counted an error, a frame lost before reception, or a frame lost after
  /// sending.
  [[nodiscard]] bool ports_hold() const noexcept;
  /// True if no port lost its link, except as the scenario requests.
  [[nodiscard]] bool links_hold() const noexcept;
  [[nodiscard]] Duration length() const noexcept {
    return Duration{static_cast<Duration::rep>(seconds * 1e9)};
  }
  /// Truth values: what holds.
  static const FigureTable& checks();
  static const FigureTable& figures();
};

inline constexpr JsonOutput kRunOutput{.name = "impair_run",
                                       .title = "roce-impair run --json, replay --json",
                                       .figures = &Report::figures,
                                       .judged = true,
                                       .version = 3};

/// Sets the ports of a report of a run, and when its directions lost frames.
void set_losses(Report& report, const Ports& ports, const std::array<LinkLosses, 2>& links,
                const OwnLossTimes& times);

/// Adds the changes so far, and the audits of what they ended, to a report: the newest `most` of
/// each, and the number of the others; and the audits of the whole run. The report has its
/// directions, with their checks.
void add_changes(Report& report, const ChangeLog& log, const EndedAudits& ended,
                 std::size_t most = ChangeLog::kMost);

/// Formats the figure of a check with its unit.
std::string check_figure(double value, emulator::CheckUnit unit);

/// Formats one recording as a line.
std::string capture_text(const CaptureReport& capture);

/// Formats the report as readable text. Counters that are 0 are left out.
std::string to_text(const Report& report);

}  // namespace lw::impair
