// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "core/time.h"
#include "emulator/random/correlated_draw.h"
#include "emulator/random/distribution.h"
#include "emulator/random/sampler.h"
#include "emulator/stage.h"

namespace lw::emulator {

/// Holds back a share of the frames: for a time, or until `frames` later frames of the rule have
/// been sent on. A held frame then leaves directly after the last of these. Or sends a share ahead:
/// they leave at once, without the delay.
struct ReorderConfig {
  double fraction = 0;
  /// Above 0: sends frames ahead. At least gap - 1 frames between two of them have the delay, as
  /// with netem's gap.
  std::uint32_t gap = 0;
  std::uint32_t frames = 0;  // 1..kMostOvertaking; 0: by `by`
  Duration by{};
  std::optional<Distribution> times = {};  // in place of `by`, which is then its largest
  /// Longest wait for overtaking frames, after the frame's own release.
  Duration at_most = std::chrono::milliseconds(10);
  /// A frame that overtakes another is not held back: with frames = 1, neighbours swap.
  bool swap = false;
  double correlation = 0;  // see CorrelatedDraw

  static constexpr std::uint32_t kMostOvertaking = 4096;
  static constexpr std::uint32_t kMostGap = 1'000'000'000;
  /// Number of frames after a picked one that are not picked.
  [[nodiscard]] std::uint32_t spared() const noexcept {
    return gap > 0 ? gap - 1 : swap ? frames : 0;
  }
  friend bool operator==(const ReorderConfig&, const ReorderConfig&) = default;
  static const FigureTable& figures();
};

/// Decides which frames are held back or sent ahead. The link holds them back.
class Reorder {
 public:
  static constexpr Stage kNumber = Stage::reorder;
  static constexpr std::string_view kName = "reorder";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {Hook::number,  Hook::apply,    Hook::skip,     Hook::waits,
                                     Hook::inherit, Hook::read,     Hook::settings, Hook::describe,
                                     Hook::audit,   Hook::add_ample};

  struct Settings {
    std::optional<ReorderConfig> reorder = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    std::uint64_t reorderable = 0;  // frames that reached the stage
    std::uint64_t held_for_times = 0;
    double held_ns = 0;  // their times in all
    void add(const Stats& other) noexcept {
      reorderable += other.reorderable;
      held_for_times += other.held_for_times;
      held_ns += other.held_ns;
    }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool waits(const RuleConfig& rule) noexcept { return present(rule); }
  Reorder(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats) noexcept {
    ++stats.reorderable;
    p.decision.overtakes = config_.frames > 0;
    if (!picks(p.number, p.copy)) return;
    p.decision.act(kNumber);
    if (config_.gap > 0) {
      p.decision.release = p.at;
      p.decision.line = kWheel;
    } else if (config_.frames > 0) {
      p.decision.action = Action::hold;
    } else if (times_) {
      hold_for_time(p, stats);
    } else {
      p.decision.release += config_.by;
      p.decision.line = line_;
    }
  }

  /// Instead of apply() while the stage pauses: the frame still overtakes those that are held.
  void skip(Passage& p) const noexcept { p.decision.overtakes = config_.frames > 0; }

  void inherit(Reorder& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;

 private:
  /// True if the frame is held back or sent ahead.
  bool picks(std::uint64_t number, std::uint32_t copy) noexcept {
    if (spared_ > 0) return --spared_, false;
    if (!draw_.hit(chance_.bits(number, copy))) return false;
    spared_ = config_.spared();
    return true;
  }

  void hold_for_time(Passage& p, Stats& stats) const noexcept;

  ReorderConfig config_;
  std::shared_ptr<const Sampler> times_;  // null: a constant time
  Chance chance_;
  CorrelatedDraw draw_;
  FifoIndex line_;
  std::uint32_t spared_;  // number of frames to send on before another may be picked
};

}  // namespace lw::emulator
