// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/histogram.h"
#include "core/stalls.h"
#include "emulator/pipeline.h"
#include "emulator/stats/accounting.h"
#include "emulator/stats/audit.h"

namespace lw::impair {

/// Summary of a histogram. Values are in ns.
struct Spread {
  /// Upper limits for up_to: 1 us to 1 s, in steps of 1, 2 and 5.
  static constexpr std::array<std::int64_t, 19> kLimits = {
      1'000,      2'000,       5'000,       10'000,      20'000,       50'000,     100'000,
      200'000,    500'000,     1'000'000,   2'000'000,   5'000'000,    10'000'000, 20'000'000,
      50'000'000, 100'000'000, 200'000'000, 500'000'000, 1'000'000'000};

  std::uint64_t count = 0;
  std::int64_t minimum = 0, p50 = 0, p99 = 0, p999 = 0, maximum = 0;
  double sum = 0;
  std::vector<std::uint64_t> up_to = {};  // [i]: number of values <= kLimits[i]

  static const FigureTable& figures();
};
Spread spread_of(const Histogram& histogram);

/// Returns the bucket, without a count, that delays_of() has for a delay in ns, at least 0.
Histogram::Bucket delay_bucket(std::int64_t delay);
/// Returns the buckets that are not empty. No bucket is wider than 1/256 of its value. The
/// difference of two results, of one histogram at two times, gives the values in between.
std::vector<Histogram::Bucket> delays_of(const Histogram& histogram);

/// Statistics of the stages of one rule. `checks` compares them with the stages' parameters.
struct StagesReport {
  std::string rule;
  emulator::RuleStats stats;
  std::vector<emulator::Check> checks = {};
  // Input of audit(). It is copied quickly from a running loop, and audited outside the loop.
  emulator::RuleStats since_change = {};
  std::shared_ptr<const std::vector<emulator::RuleConfig>> configs = {};
  std::size_t place = 0;                           // index of the rule in `configs`
  std::optional<std::uint64_t> queued_bytes = {};  // bytes in the rule's queue, if it has one

  static const FigureTable& figures();
};

/// Results of the targeted events of one direction.
struct EventsReport {
  std::vector<emulator::EventOutcome> outcomes;
  std::uint64_t untracked = 0;  // packets to QPs beyond the most that are tracked
  emulator::EventHits hits = {};
};

/// What is known about the arrivals of a direction's frames.
struct ArrivalReport {
  bool stamped = false;       // by kernel or device; otherwise a frame arrives when it is received
  std::uint64_t stepped = 0;  // frames whose stamps cannot be: the clock has stepped
  std::optional<Duration> uncertainty = {};  // how far off a stamp of a DPDK port may be
  Spread wait = {};  // without stamps: how long frames waited in the port before, at most
  std::uint64_t departures = 0;  // frames sent whose departure is a stamp; else it is the hand-over

  static const FigureTable& figures();
};

/// Meanings of two of its figures, for each output that has them.
inline constexpr std::string_view kReleaseErrorMeaning =
    "Achieved minus asked release of delayed frames.";
inline constexpr std::string_view kPassLatencyMeaning =
    "Time of the box for frames that no rule delays.";

/// Statistics of one direction.
struct DirectionReport {
  emulator::Accounting accounting;
  Spread delay = {};  // requested delay of frames that wait: scheduled release minus arrival
  Spread release_error = {};                   // actual minus scheduled release
  Spread pass_latency = {};                    // time inside of frames that no rule delays
  std::uint64_t late_frames = 0;               // sent later than emulator::is_late() permits
  std::optional<ArrivalReport> arrivals = {};  // of a run; a replay has the times of its capture
  std::vector<Histogram::Bucket> delays = {};  // see delays_of()
  std::vector<StagesReport> stages = {};
  EventsReport events = {};
  bool shows_delays = false;  // in JSON
  LossTimes lost_times = {};  // when frames were lost for lack of a resource

  /// True if no frame left before its scheduled release or before its arrival.
  [[nodiscard]] bool none_left_early() const noexcept {
    return release_error.minimum >= 0 && pass_latency.minimum >= 0;
  }
  static const FigureTable& figures();
};

/// Losses of a port's link during a run. A link that the scenario sets down is not a loss.
struct LinkLosses {
  std::uint32_t count = 0;
  Duration time{};  // total time without the link
};

/// When the box lost frames, by samples: at the west and the east port, and by direction.
struct OwnLossTimes {
  std::array<LossTimes, 2> unseen = {}, unsent = {}, directions = {};
};

/// Counters of a port's device.
struct PortReport {
  std::string side = {}, port = {};
  std::uint64_t received = 0, sent = 0, missed = 0, no_buffer = 0, errors = 0;
  // See nic::PortStats.
  std::uint64_t too_long = 0, unsent_too_long = 0, unsent_dropped = 0;
  std::uint32_t mtu = 0;  // 0: unknown
  LinkLosses link_losses = {};
  LossTimes unseen_times = {}, unsent_times = {};  // by samples

  /// Frames that came from the wire, but that the program did not receive.
  [[nodiscard]] std::uint64_t unseen() const noexcept { return missed + no_buffer + too_long; }
  /// Frames that the program sent, but that did not get onto the wire.
  [[nodiscard]] std::uint64_t unsent() const noexcept { return unsent_too_long + unsent_dropped; }
  static const FigureTable& figures();
};

/// Returns the report of a direction, without the audit and the Spreads.
DirectionReport report_of(const emulator::Pipeline& pipeline, emulator::Accounting accounting);
/// True if a report lists `rule`, an element of accounting.rules. Of more than 256 rules, a report
/// lists only those that received or created frames, and the entry for unmatched frames: with
/// 10,000 rules, an answer of `ctl show` would take seconds.
bool is_listed(const emulator::Accounting& accounting, const emulator::Account& rule) noexcept;
std::vector<const emulator::Account*> listed_rules(const DirectionReport& report);
/// Compares the statistics with the rules' parameters. Sets `checks` of every rule.
void audit(DirectionReport& direction);

}  // namespace lw::impair
