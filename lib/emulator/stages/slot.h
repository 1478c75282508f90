// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "emulator/random/sampler.h"
#include "emulator/stage.h"

namespace lw::emulator {

/// Frames go on in slots only, as on a radio or PON link that sends by turns.
struct SlotConfig {
  // From one slot to the next, or from a frame that finds none; most > 0. With a distribution, what
  // one of a thousand times is below, and one above.
  Duration least{}, most{};
  std::optional<Distribution> between = {};  // none: least to most, all equally likely
  std::uint32_t frames = 0;                  // of a slot, at most; 0: any number
  std::uint64_t bytes = 0;  // of a slot: no frame begins once as many have gone; 0: any number

  static constexpr std::uint32_t kMostFrames = 1'000'000;
  friend bool operator==(const SlotConfig&, const SlotConfig&) = default;
  static const FigureTable& figures();
};

/// What the slots were, by the frames that went on.
struct SlotStats {
  std::uint64_t slots = 0;
  std::uint64_t fullest = 0;  // frames of one slot
  // Of slots that followed directly: the times from one to the next.
  std::int64_t closest_ns = INT64_MAX, farthest_ns = 0;
  std::uint64_t followed = 0;
  double followed_ns = 0;  // their sum

  void add(const SlotStats& other) noexcept {
    slots += other.slots;
    fullest = std::max(fullest, other.fullest);
    closest_ns = std::min(closest_ns, other.closest_ns);
    farthest_ns = std::max(farthest_ns, other.farthest_ns);
    followed += other.followed;
    followed_ns += other.followed_ns;
  }
};

/// Lets frames wait for the next slot, before their delay. By the rule of netem's `slot`
/// (sch_netem.c, get_slot_next): a frame that finds the last slot past begins one, which comes
/// after a random time between `least` and `most`; all frames that are there by then leave in it
/// together, up to its limits; when a limit is reached, the next slot is as far away.
class Slot {
 public:
  static constexpr Stage kNumber = Stage{13};
  static constexpr std::string_view kName = "slot";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {Hook::number, Hook::apply,    Hook::varies,   Hook::inherit,
                                     Hook::read,   Hook::settings, Hook::describe, Hook::audit,
                                     Hook::report, Hook::add_ample};

  struct Settings {
    std::optional<SlotConfig> slot = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    SlotStats slots;
    void add(const Stats& other) noexcept { slots.add(other.slots); }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool varies(const RuleConfig& rule) noexcept { return present(rule); }
  Slot(const RuleConfig& rule, const StageSetup& setup);

  void apply(Passage& p, Stats& stats) noexcept;
  void inherit(Slot& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static void report(const RuleStats& stats, StageLines& lines);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;

 private:
  /// The slot that comes next after `from`.
  void open_after(Instant from, const Passage& p) noexcept;
  void count(Stats& stats) noexcept;

  Duration least_, most_;
  std::uint32_t most_frames_;
  std::uint64_t most_bytes_;
  Chance chance_;
  std::optional<Sampler> sampler_;
  Instant begin_{Duration::min()};  // of the slot in which the next frame leaves, if it is there
  std::uint32_t frames_ = 0;        // that leave in it
  std::uint64_t bytes_ = 0;
  // For the audit: the slot of the last frame, its frames, and whether the next follows directly.
  Instant last_{Duration::min()};
  std::uint64_t in_last_ = 0;
  bool follows_ = false;
};

}  // namespace lw::emulator
