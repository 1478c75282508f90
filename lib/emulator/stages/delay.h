// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "emulator/random/jitter.h"
#include "emulator/stage.h"
#include "emulator/stages/trace.h"
#include "emulator/stats/jitter_stats.h"

namespace lw::emulator {

/// Delays frames: by the rule's constant delay, its jitter, or the delay of its trace. Every rule
/// has this stage, because frames must not overtake frames that a previous configuration delayed.
class Delay {
 public:
  static constexpr Stage kNumber = Stage::delay;
  static constexpr std::string_view kName = "delay";
  static constexpr bool kActsOnBatch = true;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {
      Hook::number,  Hook::apply,    Hook::skip, Hook::fits_short_path, Hook::varies, Hook::waits,
      Hook::inherit, Hook::prepare,  Hook::read, Hook::describe,        Hook::audit,  Hook::figures,
      Hook::report,  Hook::add_ample};

  struct Settings {
    std::optional<Duration> delay = {};  // nominal delay; none, and no jitter: frames pass at once
    std::optional<JitterConfig> jitter = {};
    bool keep_order = true;  // when delays vary: the key `order`
    // After a change to a shorter delay, frames may leave before earlier ones.
    bool overtakes = false;
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    DrawStats jitter;
    CorrelatedStats correlated;
    std::array<std::uint64_t, FitBins::kBins> fit{};  // every 16th draw, or the samples, by bin
    std::uint64_t moved_for_order = 0;                // releases that were moved to keep the order
    std::uint64_t moved_ns = 0;                       // total time by which they were moved
    void add(const Stats& other) noexcept {
      jitter.add(other.jitter);
      moved_for_order += other.moved_for_order;
      moved_ns += other.moved_ns;
    }
    static const FigureTable& figures();
  };

  static bool present(const RuleConfig& /*rule*/) noexcept { return true; }
  static bool varies(const RuleConfig& rule) noexcept;
  static bool waits(const RuleConfig& rule) noexcept;
  static bool fits_short_path(const RuleConfig& rule) noexcept;
  Delay(const RuleConfig& rule, const StageSetup& setup);
  static void prepare(const RuleConfig& rule, Stats& stats);

  void apply(Passage& p, Stats& stats) noexcept {
    if (delays_) {
      wait(p, stats);
    } else if (keep_order_ && last_release_ > p.at) [[unlikely]] {
      follow(p.decision);
    }
  }
  /// Instead of apply() while the stage pauses: no delay, but in order.
  void skip(Passage& p) noexcept {
    last_release_ = std::max(last_release_, p.at);
    p.decision.action = Action::queue;
    p.decision.line = kWheel;
    p.decision.release = keep_order_ ? last_release_ : p.at;
  }
  /// apply() for a rule whose stages all fit the short path.
  void apply_constant(Decision& decision, Instant now) noexcept {
    if (delay_) {
      decision.action = Action::queue;
      decision.stage = kNumber;
      decision.line = line_;
      decision.release = last_release_ = std::max(now + *delay_, last_release_);
    } else if (last_release_ > now) [[unlikely]] {
      follow(decision);
    }
  }
  /// Lets a frame leave at decision.release, which is that of apply() when it leaves the rule's
  /// queue. Returns false, and does nothing, if a frame before it leaves later.
  [[nodiscard]] bool release_at(Decision& decision) noexcept {
    if (decision.release < last_release_) return false;
    decision.action = Action::queue;
    decision.stage = kNumber;
    decision.line = line_;
    last_release_ = decision.release;
    return true;
  }
  /// apply() for a frame that has left its rule's queue at `at`, without jitter.
  void apply_behind_queue(Decision& decision, Instant at, Stats& stats) noexcept {
    decision.stage = kNumber;
    decision.action = Action::queue;
    decision.line = line_;
    Instant release = at + nominal();
    if (release < last_release_) [[unlikely]] {
      ++stats.moved_for_order;
      stats.moved_ns += static_cast<std::uint64_t>((last_release_ - release).count());
      release = last_release_;
    }
    decision.release = last_release_ = final_release_ = release;
  }
  [[nodiscard]] Instant last_release() const noexcept { return last_release_; }
  /// The last frame of several has this release, as if by release_at().
  void released_until(Instant release) noexcept { last_release_ = release; }
  /// A frame that leaves at `release` has left the queue, so that release_at() is final.
  void finalize(Instant release) noexcept { final_release_ = release; }
  /// Forgets releases that are not final.
  void take_back() noexcept { last_release_ = final_release_; }
  [[nodiscard]] FifoIndex line() const noexcept { return line_; }
  /// Makes the decision of apply() for frames under a rule that acts on batches, without the
  /// release.
  void decide_batch(Decision& decision) const noexcept {
    decision.action = Action::queue;
    decision.stage = kNumber;
    if (jitter_) decision.act(kNumber);
    decision.line = line_;
  }
  /// Computes the releases of a batch of at most kMostTogether frames; `first` is the number of its
  /// first frame. Returns true if the stage counts as having acted on them.
  static constexpr std::size_t kMostTogether = Jitter::kMostTogether;
  bool releases(std::uint64_t first, Instant now, std::span<Instant> out, Stats& stats) noexcept;

  /// The constant part of the delay.
  [[nodiscard]] Duration nominal() const noexcept { return delay_.value_or(Duration{}); }
  void inherit(Delay& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static const FigureTable& figures();
  static void report(const RuleStats& stats, StageLines& lines);
  static void add_ample(const RuleConfig& rule, AmpleDelay& ample) noexcept;

 private:
  void wait(Passage& p, Stats& stats) noexcept {
    const bool traced = p.row && p.row->delay;
    Instant release = p.at + (traced ? *p.row->delay : delay_.value_or(Duration{}));
    p.decision.stage = kNumber;
    if (jitter_) {
      const double drawn = (*jitter_)(p.number, p.copy, p.at);
      stats.jitter.add(drawn);
      if (jitter_->is_correlated()) {
        if (p.at >= stats.correlated.due()) sample(p.at, drawn, stats);
      } else if (p.number % 16 == 0) {
        ++stats.fit[(*fit_)(drawn)];
      }
      release += whole_ns(drawn);
      p.decision.act(kNumber);
    }
    if (traced) p.decision.act(kNumber);
    // With a distribution that includes negative delays, a frame must still not leave before it
    // came in.
    release = std::max(release, p.at);
    if (keep_order_ && release < last_release_) {
      ++stats.moved_for_order;
      stats.moved_ns += static_cast<std::uint64_t>((last_release_ - release).count());
      release = last_release_;
    }
    last_release_ = final_release_ = std::max(last_release_, release);
    p.decision.action = Action::queue;
    p.decision.line = line_;
    p.decision.release = release;
  }
  /// No delay now; still queue behind frames delayed by the previous configuration.
  void follow(Decision& decision) const noexcept {
    decision.action = Action::queue;
    decision.stage = kNumber;
    decision.line = kWheel;
    decision.release = last_release_;
  }
  [[gnu::cold, gnu::noinline]] void sample(Instant t, double delay, Stats& stats) noexcept;
  Instant correlated(Instant nominal, Instant now, std::size_t frames, Stats& stats) noexcept;
  void draw(std::uint64_t first, Instant nominal, Instant now, std::span<Instant> out,
            Stats& stats) noexcept;
  void put_in_order(std::span<Instant> releases, Stats& stats) noexcept;

  bool delays_, keep_order_;
  FifoIndex line_;
  std::optional<Duration> delay_;
  // Latest release of a frame so far: no frame that keeps its order leaves earlier.
  Instant last_release_{Duration::min()};
  Instant final_release_{Duration::min()};  // the latest that is final
  std::optional<Jitter> jitter_;
  std::optional<FitBins> fit_;
};

}  // namespace lw::emulator
