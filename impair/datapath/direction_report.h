// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/histogram.h"
#include "emulator/pipeline.h"
#include "emulator/stats/accounting.h"
#include "emulator/stats/audit.h"

namespace lw::impair {

/// Figures of a histogram, in ns.
struct Spread {
  /// 1 us to 1 s, in steps of 1, 2 and 5.
  static constexpr std::array<std::int64_t, 19> kLimits = {
      1'000,      2'000,       5'000,       10'000,      20'000,       50'000,     100'000,
      200'000,    500'000,     1'000'000,   2'000'000,   5'000'000,    10'000'000, 20'000'000,
      50'000'000, 100'000'000, 200'000'000, 500'000'000, 1'000'000'000};

  std::uint64_t count = 0;
  std::int64_t minimum = 0, p50 = 0, p99 = 0, p999 = 0, maximum = 0;
  double sum = 0;
  std::vector<std::uint64_t> up_to = {};  // values of at most each of kLimits
};
Spread spread_of(const Histogram& histogram);

/// The buckets that are not empty, none wider than 1/256 of its value: two of them, of the same
/// histogram at two times, give the values in between.
std::vector<Histogram::Bucket> delays_of(const Histogram& histogram);

/// What the stages of one rule did, and how it compares with their parameters.
struct StagesReport {
  std::string rule;
  emulator::RuleStats stats;
  std::vector<emulator::Check> checks = {};
  // The input of the audit: copied quickly from a running loop, audited elsewhere.
  emulator::RuleStats since_change = {};
  std::shared_ptr<const std::vector<emulator::RuleConfig>> configs = {};
  std::size_t place = 0;                           // index of the rule in `configs`
  std::optional<std::uint64_t> queued_bytes = {};  // in the rule's queue, if it has one
};

/// Results of the targeted events of one direction.
struct EventsReport {
  std::vector<emulator::EventOutcome> outcomes;
  std::uint64_t untracked = 0;  // packets to QPs beyond the most that are tracked
  emulator::EventHits hits = {};
};

/// Statistics of one direction.
struct DirectionReport {
  emulator::Accounting accounting;
  Spread delay = {};          // what rules asked of frames that wait: release minus arrival
  Spread release_error = {};  // actual minus scheduled release
  Spread pass_latency = {};   // of frames that no rule delays
  std::vector<Histogram::Bucket> delays = {};  // see delays_of()
  std::vector<StagesReport> stages = {};
  EventsReport events = {};

  /// No frame left before it was due, or before it had come in.
  [[nodiscard]] bool none_left_early() const noexcept {
    return release_error.minimum >= 0 && pass_latency.minimum >= 0;
  }
};

/// How often a port lost its link in a run, without a scenario that asked for it.
struct LinkLosses {
  std::uint32_t count = 0;
  Duration time{};  // without the link, in all
};

/// What the device of a port counted.
struct PortReport {
  std::string side = {}, port = {};
  std::uint64_t received = 0, sent = 0, missed = 0, no_buffer = 0, errors = 0;
  // See nic::PortStats.
  std::uint64_t too_long = 0, unsent_too_long = 0, unsent_dropped = 0;
  std::uint32_t mtu = 0;  // 0: unknown
  LinkLosses link_losses = {};

  /// Frames that were on the wire, and that the box has not seen.
  [[nodiscard]] std::uint64_t unseen() const noexcept { return missed + no_buffer + too_long; }
  /// Frames that left the box, and that are not on the wire.
  [[nodiscard]] std::uint64_t unsent() const noexcept { return unsent_too_long + unsent_dropped; }
};

/// The report of a direction at `now`, not audited yet and without its spreads.
DirectionReport report_of(const emulator::Pipeline& pipeline, emulator::Accounting accounting,
                          Instant now);
/// Of more than 256 rules, only those that received frames are listed, and the untouched frames:
/// with 10,000 rules, an answer of `ctl show` would take seconds.
bool is_listed(const emulator::Accounting& accounting, const emulator::Account& rule) noexcept;
/// Compares the statistics with the rules' parameters.
void audit(DirectionReport& direction);

}  // namespace lw::impair
