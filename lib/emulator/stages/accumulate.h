// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "core/time.h"
#include "emulator/stage.h"

namespace lw::emulator {

/// Frames are held until enough have come, or a time has passed, and then leave together.
struct AccumulateConfig {
  std::uint32_t frames = kMostFrames;             // of a group, 2..kMostFrames
  Duration time = std::chrono::milliseconds(10);  // that the first frame of a group waits, at most

  static constexpr std::uint32_t kMostFrames = 4096;
  friend bool operator==(const AccumulateConfig&, const AccumulateConfig&) = default;
  static const FigureTable& figures();
};

/// The groups that left.
struct GroupStats {
  std::uint64_t frames = 0, groups = 0, full = 0;
  std::uint64_t largest = 0;
  std::int64_t longest_ns = 0;  // from the release of a group's first frame until it left

  void add_group(std::uint64_t size, bool is_full, Duration waited) noexcept {
    frames += size;
    ++groups;
    full += is_full ? 1U : 0U;
    largest = std::max(largest, size);
    longest_ns = std::max(longest_ns, static_cast<std::int64_t>(waited.count()));
  }
  void add(const GroupStats& other) noexcept {
    frames += other.frames;
    groups += other.groups;
    full += other.full;
    largest = std::max(largest, other.largest);
    longest_ns = std::max(longest_ns, other.longest_ns);
  }
};

/// Decides that frames are held for their group, behind all other stages. The link holds them
/// (queue/held.h), and counts the groups when they leave.
class Accumulate {
 public:
  static constexpr Stage kNumber = Stage{15};
  static constexpr std::string_view kName = "accumulate";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = false;
  static constexpr HookSet kHooks = {Hook::number, Hook::apply,    Hook::waits,
                                     Hook::read,   Hook::settings, Hook::describe,
                                     Hook::audit,  Hook::report,   Hook::add_ample};

  struct Settings {
    std::optional<AccumulateConfig> accumulate = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    GroupStats gathered;
    void add(const Stats& other) noexcept { gathered.add(other.gathered); }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool waits(const RuleConfig& rule) noexcept { return present(rule); }
  Accumulate(const RuleConfig& /*rule*/, const StageSetup& /*setup*/) noexcept {}

  void apply(Passage& p, Stats& /*stats*/) const noexcept {
    p.decision.overtakes = true;  // the link looks at the frames that the rule holds
    p.decision.action = Action::hold;
    p.decision.line = kWheel;
    p.decision.act(kNumber);
  }

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static void report(const RuleStats& stats, StageLines& lines);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;
};

}  // namespace lw::emulator
