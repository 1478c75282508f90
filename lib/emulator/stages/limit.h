// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "emulator/stage.h"
#include "roce/envelope.h"

namespace lw::emulator {

/// Drops a frame that comes while the rule holds as many frames as allowed: those in its queue and
/// its slots, and those that are delayed or held. A frame that is due has left. (netem's `limit`.)
class Limit {
 public:
  static constexpr Stage kNumber = Stage{14};
  static constexpr std::string_view kName = "limit";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {Hook::number, Hook::apply,    Hook::reads_headers,
                                     Hook::read,   Hook::describe, Hook::audit};
  static constexpr std::uint32_t kMostFrames = 1'000'000'000;

  struct Settings {
    std::optional<std::uint32_t> limit = {};  // frames, 1..kMostFrames
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    std::uint64_t limited = 0;      // frames that reached the stage
    std::uint64_t most_inside = 0;  // of the rule, with the frame that was let in last
    void add(const Stats& other) noexcept {
      limited += other.limited;
      most_inside = std::max(most_inside, other.most_inside);
    }
  };

  static bool present(const RuleConfig& rule) noexcept;
  /// Frames that are opened are decided about one by one, with those that are due let out before.
  static bool reads_headers(const RuleConfig& rule) noexcept { return present(rule); }
  Limit(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats, const roce::Envelope& /*envelope*/) const noexcept {
    ++stats.limited;
    if (p.inside >= frames_) return p.decision.drop(kNumber);
    stats.most_inside = std::max(stats.most_inside, p.inside + 1);
  }

  static void read(const StageKeys& rule, Settings& settings);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);

 private:
  std::uint32_t frames_;
};

}  // namespace lw::emulator
