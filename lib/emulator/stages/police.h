// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "emulator/stage.h"

namespace lw::emulator {

/// A token bucket: frames that find too few tokens are dropped.
struct PoliceConfig {
  double rate_bps = 0;                     // rate of the tokens, > 0
  std::uint64_t burst_bytes = 0;           // size of the bucket, > 0; initially full
  std::uint32_t overhead = kLineOverhead;  // bytes on the wire besides each frame's own
  friend bool operator==(const PoliceConfig&, const PoliceConfig&) = default;
  static const FigureTable& figures();
};

/// Counters of a policer. Between two drops in quick succession the bucket can't have been full, so
/// the bytes that pass between them match the rate, except for one frame at each end.
struct PoliceStats {
  std::uint64_t frames = 0, dropped = 0;
  // Sums over all intervals from a drop to the next drop in quick succession.
  std::uint64_t intervals = 0, passed_bytes = 0, passing_ns = 0;
  std::uint64_t largest_cost = 0;

  /// `soon`: the shortest time in which a bucket with too few tokens for a frame fills up.
  void add(std::uint32_t cost, bool conforms, Instant now, Duration soon) noexcept {
    ++frames;
    largest_cost = std::max<std::uint64_t>(largest_cost, cost);
    if (conforms) {
      since_drop_ += cost;
      return;
    }
    if (dropped++ > 0 && now - last_drop_ < soon) {
      if (!in_interval_) ++intervals;
      passed_bytes += since_drop_;
      passing_ns += static_cast<std::uint64_t>((now - last_drop_).count());
      in_interval_ = true;
    } else {
      in_interval_ = false;
    }
    last_drop_ = now;
    since_drop_ = 0;
  }

 private:
  Instant last_drop_{};
  std::uint64_t since_drop_ = 0;
  bool in_interval_ = false;
};

class Policer {
 public:
  explicit Policer(const PoliceConfig& config) noexcept
      : bytes_per_ns_(config.rate_bps / 8e9),
        full_(static_cast<double>(config.burst_bytes)),
        overhead_(config.overhead),
        tokens_(full_) {}

  /// Takes over the tokens of the policer that this one replaces at `now`, up to this bucket's
  /// size.
  void take_over(const Policer& old, Instant now) noexcept {
    if (old.filled_ == kNever) return;
    tokens_ = std::min(full_, old.tokens_at(now));
    filled_ = now;
  }

  /// Takes the frame's tokens if there are enough. `now` never decreases.
  [[nodiscard]] bool conforms(std::uint32_t bytes, Instant now) noexcept {
    tokens_ = tokens_at(now);
    filled_ = now;
    const double cost = on_the_line(bytes, overhead_);
    if (cost > tokens_) return false;
    tokens_ -= cost;
    return true;
  }

 private:
  static constexpr Instant kNever = Instant::min();

  /// The bucket is full for the first frame.
  [[nodiscard]] double tokens_at(Instant now) const noexcept {
    if (filled_ == kNever) return full_;
    return std::min(full_, tokens_ + static_cast<double>((now - filled_).count()) * bytes_per_ns_);
  }

  double bytes_per_ns_, full_;
  std::uint32_t overhead_;
  double tokens_;
  Instant filled_ = kNever;
};

/// Drops frames above a rate.
class Police {
 public:
  static constexpr Stage kNumber = Stage::police;
  static constexpr std::string_view kName = "police";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {Hook::number,   Hook::apply,    Hook::inherit, Hook::read,
                                     Hook::settings, Hook::describe, Hook::audit,   Hook::report};

  struct Settings {
    std::optional<PoliceConfig> police = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    PoliceStats police;
    void add(const Stats& /*other*/) noexcept {}
  };

  static bool present(const RuleConfig& rule) noexcept;
  Police(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats) noexcept {
    const bool conforms = policer_.conforms(p.bytes, p.now);
    stats.police.add(on_the_line(p.bytes, overhead_), conforms, p.now, soon_);
    if (!conforms) p.decision.drop(kNumber);
  }
  void inherit(Police& old, const RuleConfig& rule, const RuleConfig& old_rule,
               Instant now) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static void report(const RuleStats& stats, StageLines& lines);

 private:
  Policer policer_;
  std::uint32_t overhead_;
  Duration soon_;  // see PoliceStats
};

}  // namespace lw::emulator
