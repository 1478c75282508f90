// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/chance.h"
#include "core/time.h"
#include "emulator/decision.h"
#include "emulator/direction.h"

namespace lw::emulator {

inline constexpr std::uint32_t kFcsBytes = 4;
/// Ethernet's smallest frame without FCS; a shorter one is padded to it on the line.
inline constexpr std::uint32_t kSmallestOnLine = 60;
/// What a line carries beside a frame's bytes: preamble and start delimiter 8, gap 12, FCS 4.
inline constexpr std::uint32_t kLineOverhead = 24;

/// The bytes of line that a frame of `bytes` (without FCS) takes.
constexpr std::uint32_t on_the_line(std::uint32_t bytes, std::uint32_t overhead) noexcept {
  return std::max(bytes, kSmallestOnLine) + overhead;
}

class Bottleneck;
class StageKeys;
struct Check;
struct LossStats;
struct RowStats;
struct RuleConfig;
struct RuleStats;
struct TraceRow;

/// The release queue's FIFOs for a rule's frames: for frames that keep their order, and for frames
/// that are held back by a time.
struct RuleFifos {
  FifoIndex usual = 0, late = 0;
};

/// What a stage is constructed from, beside its rule's configuration.
struct StageSetup {
  std::uint64_t seed = 0;
  Direction direction = Direction::west_to_east;
  RuleFifos lines = {};

  /// The random draws of one stage of one rule in one direction. They depend only on the seed and
  /// the ingress frame number, so a change to one rule leaves the draws of all others as they were.
  [[nodiscard]] Chance chance(std::string_view rule, std::string_view stage) const noexcept {
    // Each name is hashed separately, so that no two concatenations coincide.
    std::uint64_t domain = hash_name(name_of(direction));
    domain = domain * 0x9e3779b97f4a7c15 + hash_name(rule);
    domain = domain * 0x9e3779b97f4a7c15 + hash_name(stage);
    return Chance(seed, domain);
  }
};

/// A frame on its way through the stages of a rule. The frame's headers are not in here: a stage
/// that reads them takes the envelope as an argument of apply() and declares reads_headers().
struct Passage {
  std::uint64_t number;  // ingress frame number
  std::uint32_t bytes;   // without FCS
  std::uint32_t copy;    // 0: the frame itself; n: its n-th copy
  Instant now;           // when the frame came in
  Instant at;            // when it reaches the stage; later than `now` behind a queue
  const EventActions& aimed;
  Decision& decision;
  // What one stage tells the others; null where the rule lacks that stage.
  const TraceRow* row = nullptr;  // the trace's row in force,
  RowStats* row_stats = nullptr;  // its counters,
  LossStats* traced = nullptr;    // and those of losses by the trace
  Bottleneck* queue = nullptr;
};

/// Bounds for a rule's delay, to which each stage adds its part.
struct AmpleDelay {
  Duration total{};
  Duration nominal_floor{};  // the longest delay of a trace
  double slowest_bps = 0;    // the slowest rate of a trace; 0: none
};

/// A rule's stages in words: {profile key, description}.
using StageTexts = std::vector<std::pair<std::string_view, std::string>>;

/// What reports say of a stage's counters: fields of JSON objects, and lines for people.
struct StageFigures {
  struct Field {
    std::string_view group, name;  // no group: a field of the rule itself
    std::uint64_t value = 0;
    std::vector<std::uint64_t> list = {};  // in place of the value, where `is_list`
    bool is_list = false;
  };
  std::vector<Field> fields;
  std::vector<std::string> lines;

  void field(std::string_view group, std::string_view name, std::uint64_t value) {
    fields.push_back({group, name, value});
  }
  /// A line "<count> <what>" where the count is above 0.
  void line(std::uint64_t count, std::string_view what);
};

}  // namespace lw::emulator
