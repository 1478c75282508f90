// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chance.h"
#include "core/time.h"
#include "emulator/decision.h"
#include "emulator/direction.h"
#include "emulator/queue/line_bytes.h"
#include "emulator/stage_hooks.h"

namespace lw {
struct Figure;
struct FigureTable;
}  // namespace lw

namespace lw::emulator {

struct RulesQueue;
class StageKeys;
struct Check;
struct LossStats;
struct RowStats;
struct RuleConfig;
struct RuleStats;
struct TraceRow;

/// The release queue's FIFOs for a rule's frames: one for frames that keep their order, and one for
/// frames that are held back for a time.
struct RuleFifos {
  FifoIndex usual = 0, late = 0;
};

/// Inputs of a stage's constructor, besides its rule's configuration.
struct StageSetup {
  std::uint64_t seed = 0;
  Direction direction = Direction::west_to_east;
  RuleFifos lines = {};
  RuleIndex index = kUntouched;            // of the rule
  std::shared_ptr<RulesQueue> queue = {};  // of the rule; null: the rule makes its own, if any

  /// Returns the random draws of one stage of one rule in one direction. They depend only on the
  /// seed and the ingress frame number, so a change of one rule does not change the draws of
  /// others.
  [[nodiscard]] Chance chance(std::string_view rule, std::string_view stage) const noexcept {
    // Each name is hashed separately, so that different pairs of names don't give the same text.
    std::uint64_t domain = hash_name(name_of(direction));
    domain = domain * 0x9e3779b97f4a7c15 + hash_name(rule);
    domain = domain * 0x9e3779b97f4a7c15 + hash_name(stage);
    return Chance(seed, domain);
  }
};

/// Index of a row of a trace that is not in force.
inline constexpr std::uint32_t kNoRow = UINT32_MAX;

/// A frame while it passes the stages of a rule. Doesn't include the headers: a stage that reads
/// them takes the envelope as an argument of apply() and has the hook reads_headers.
struct Passage {
  std::uint64_t number;  // ingress frame number
  std::uint32_t bytes;   // without FCS
  std::uint32_t copy;    // 0: the frame itself; n: its n-th copy
  Instant now;           // when the frame came in
  Instant at;            // when it reaches the stage; later than `now` after a queue
  const EventActions& aimed;
  Decision& decision;
  // Data that one stage provides to others; null if the rule lacks that stage.
  const TraceRow* row = nullptr;  // the trace's row in force
  std::uint32_t row_index = kNoRow;
  RowStats* row_stats = nullptr;                  // counters of that row
  LossStats* traced = nullptr;                    // counters of losses by the trace
  std::optional<std::uint64_t> class_bytes = {};  // in the rule's class of its queue
  std::optional<std::uint8_t> ecn = {};           // the ECN field, if a stage has changed it
  std::uint64_t inside = 0;                       // frames of the rule that wait or are delayed
};

/// Bounds of a rule's delay; each stage adds its part.
struct AmpleDelay {
  Duration total{};
  Duration nominal_floor{};  // the longest delay of a trace
  double slowest_bps = 0;    // the slowest rate of a trace; 0: none
};

/// Descriptions of a rule's stages: {profile key, description}.
using StageTexts = std::vector<std::pair<std::string_view, std::string>>;

/// The lines about a rule's stages in the text report.
struct StageLines {
  std::vector<std::string> lines;

  /// Adds a line "<count> <what>" if the count is above 0.
  void line(std::uint64_t count, std::string_view what);
};

}  // namespace lw::emulator
