// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/histogram.h"
#include "emulator/events/events.h"
#include "emulator/pipeline.h"
#include "emulator/stats/accounting.h"
#include "emulator/stats/audit.h"

namespace lw::impair {

/// A histogram's figures, ns.
struct Spread {
  std::uint64_t count = 0;
  std::int64_t minimum = 0, p50 = 0, p99 = 0, p999 = 0, maximum = 0;
};
Spread spread_of(const Histogram& histogram);

/// A rule's stages: what they were seen to do, and what happened beside.
struct StagesReport {
  std::string rule;
  emulator::RuleStats stats;
  std::vector<emulator::Check> checks = {};
  // What checks are made of: a running loop's are copied in a moment, and judged elsewhere.
  emulator::RuleStats since_change = {};
  std::shared_ptr<const std::vector<emulator::RuleConfig>> configs = {};
  std::size_t place = 0;  // the rule's, among `configs`
};
/// Not judged yet.
std::vector<StagesReport> stages_of(const emulator::Pipeline& pipeline);

/// How the targeted events of a direction fared.
struct EventsReport {
  std::vector<emulator::EventOutcome> outcomes;
  std::uint64_t untracked = 0;  // packets to QPs beyond the most that are tracked
  emulator::EventHits hits = {};
};

struct DirectionReport {
  emulator::Accounting accounting;
  Spread release_error;  // achieved minus asked
  Spread pass_latency;   // of frames that no rule delays
  std::vector<StagesReport> stages = {};
  EventsReport events = {};

  /// Nothing left before it was due, or before it had come in.
  [[nodiscard]] bool none_left_early() const noexcept {
    return release_error.minimum >= 0 && pass_latency.minimum >= 0;
  }
};
/// Holds what was seen against the rules' parameters.
void judge(DirectionReport& direction);
EventsReport events_of(const emulator::Pipeline& pipeline);

/// What a port's device counted.
struct PortReport {
  std::string side, port;
  std::uint64_t received = 0, sent = 0, missed = 0, no_buffer = 0, errors = 0;
};

struct LedgerReport {
  std::string file;
  std::uint64_t records = 0, skipped = 0;
};

/// The recording of what came in and went out.
struct CaptureReport {
  std::string file;
  std::uint64_t frames = 0, skipped = 0;
};

/// How a run's scenario, and what commands fired, were carried out.
struct ScenarioReport {
  std::size_t done = 0, failed = 0, all = 0;  // steps
  Duration latest{};                          // at most so long after its time was a step in force
};

/// A whole run, at its end.
struct Report {
  std::string command, profile;
  std::uint64_t seed = 0;
  double seconds = 0;  // real, or the capture's
  std::vector<DirectionReport> directions = {};
  std::vector<PortReport> ports = {};
  std::optional<LedgerReport> ledger = {};
  std::optional<CaptureReport> capture = {};
  std::optional<ScenarioReport> scenario = {};
  /// While this was gathered from a running loop its frames had to wait so long.
  std::optional<Duration> held_up = {};
  std::uint64_t stamps_backwards = 0;  // of a capture whose time runs backwards

  /// The accounting identity of every direction and rule.
  [[nodiscard]] bool accounts_hold() const noexcept;
  /// Every stage's statistics against its own parameters, and every event carried out.
  [[nodiscard]] bool stages_hold() const noexcept;
  /// No frame left too early; how late they left is the machine's, and is shown.
  [[nodiscard]] bool releases_hold() const noexcept;
  /// No step of the scenario had to be left out.
  [[nodiscard]] bool scenario_holds() const noexcept { return !scenario || scenario->failed == 0; }
  [[nodiscard]] bool holds() const noexcept {
    return accounts_hold() && stages_hold() && releases_hold() && scenario_holds();
  }
};

nlohmann::ordered_json to_json(const Report& report);
std::string to_text(const Report& report);

}  // namespace lw::impair
