// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/error.h"
#include "core/time.h"
#include "impair/datapath/direction_report.h"
#include "impair/record/recorder.h"

namespace lw::impair {

/// A ledger that was written.
struct LedgerReport {
  std::string file;
  std::uint64_t records = 0, skipped = 0, lost = 0;  // as CaptureReport
  [[nodiscard]] std::uint64_t missing() const noexcept { return skipped + lost; }
};

/// How the steps of a scenario, and of commands, were carried out.
struct ScenarioReport {
  std::size_t done = 0, failed = 0, all = 0;  // steps
  Duration latest{};  // the longest time from when a step was due until it was in force
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
  /// What was wrong with the ledger's or a recording's file.
  std::optional<Error> write_failure = {};
  /// How long the running loop stood still while this was gathered.
  std::optional<Duration> held_up = {};
  std::uint64_t stamps_backwards = 0;  // frames whose stamp is before the one of their predecessor

  /// The accounting identity of every direction and rule.
  [[nodiscard]] bool accounts_hold() const noexcept;
  /// The statistics of each stage agree with its parameters, and each event was carried out.
  [[nodiscard]] bool stages_hold() const noexcept;
  /// No frame left too early. How late they left depends on the machine, and is only shown.
  [[nodiscard]] bool releases_hold() const noexcept;
  /// No frame was lost because the box had no room, no way out or no buffer for it: the profile
  /// asked for no such losses. (Link changes and the end of a run are asked for.)
  [[nodiscard]] bool resources_hold() const noexcept;
  /// No record of the ledger and no frame of a recording is missing.
  [[nodiscard]] bool records_hold() const noexcept;
  /// No step of the scenario was left out.
  [[nodiscard]] bool scenario_holds() const noexcept { return !scenario || scenario->failed == 0; }
  /// No frame was lost in front of the box or behind it.
  [[nodiscard]] bool ports_hold() const noexcept;
  /// No port lost its link, but for what the scenario asked for.
  [[nodiscard]] bool links_hold() const noexcept;
  [[nodiscard]] bool holds() const noexcept {
    return accounts_hold() && stages_hold() && releases_hold() && resources_hold() &&
           records_hold() && scenario_holds() && ports_hold() && links_hold();
  }
};

/// One recording, as a line and as an object.
std::string capture_text(const CaptureReport& capture);
nlohmann::ordered_json capture_json(const CaptureReport& capture);

/// The report as lines for people; empty counters are left out.
std::string to_text(const Report& report);

/// The report as one JSON object: times in ns, sizes in bytes.
nlohmann::ordered_json to_json(const Report& report);

}  // namespace lw::impair
