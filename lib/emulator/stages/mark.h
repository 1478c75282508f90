// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/queue/red.h"
#include "emulator/stage.h"
#include "roce/envelope.h"

namespace lw::emulator {

/// What RED does to a frame that isn't ECN-capable (RFC 3168, 5).
enum class NotEct : std::uint8_t { pass, drop };

struct MarkConfig {
  double probability = 0;       // independent of the queue
  std::optional<Red> red = {};  // requires that the rule has a queue
  NotEct not_ect = NotEct::pass;
  bool force = false;  // also mark IP frames that aren't ECN-capable
  friend bool operator==(const MarkConfig&, const MarkConfig&) = default;
  static const FigureTable& figures();
};

enum class MarkVerdict : std::uint8_t {
  none,     // not marked
  mark,     // becomes CE
  already,  // selected, but already CE
  not_ect,  // selected, but not ECN-capable
  drop,     // selected by RED, not ECN-capable, and therefore dropped
};

/// Reads the keys of RED: kmin, kmax, pmax, profile, pmin and at. Nothing if none is there.
std::optional<Red> read_red(const StageKeys& table);

/// What RED measured: frames that it judged while the buffer was between the thresholds, with the
/// bytes in it, and while it was fuller.
struct RedStats {
  std::uint64_t between = 0, bytes_between = 0, above = 0;
};

/// Decides which frames are marked congestion experienced (CE).
class Marker {
 public:
  Marker(const MarkConfig& config, Chance chance) noexcept
      : config_(config), probability_(config.probability), chance_(chance) {}

  [[nodiscard]] const std::optional<Red>& red() const noexcept { return config_.red; }
  /// True if RED decides when a frame leaves the queue.
  [[nodiscard]] bool on_leaving() const noexcept { return config_.red && config_.red->on_leaving; }
  /// `ecn`: the ECN field of the IP header; none without such a header.
  /// By probability, and by RED with `queued` bytes in the emulated queue; without: not by RED.
  /// `copy`: 0 for the frame itself.
  [[nodiscard]] MarkVerdict judge(std::optional<std::uint8_t> ecn, std::uint64_t number,
                                  std::uint32_t copy,
                                  std::optional<std::uint64_t> queued) const noexcept {
    return verdict(ecn, probability_.hit(chance_.bits(number, copy * kDrawsACopy)),
                   queued && by_red(number, copy, *queued));
  }
  /// By RED only.
  [[nodiscard]] MarkVerdict judge_leaving(std::optional<std::uint8_t> ecn, std::uint64_t number,
                                          std::uint32_t copy, std::uint64_t queued) const noexcept {
    return verdict(ecn, false, by_red(number, copy, queued));
  }

 private:
  // Draws per copy of a frame: its draws have consecutive numbers.
  static constexpr std::uint64_t kDrawsACopy = 2;

  [[nodiscard]] bool by_red(std::uint64_t number, std::uint32_t copy,
                            std::uint64_t queued) const noexcept {
    return Threshold(config_.red->probability(static_cast<double>(queued)))
        .hit(chance_.bits(number, copy * kDrawsACopy + 1));
  }
  [[nodiscard]] MarkVerdict verdict(std::optional<std::uint8_t> ecn, bool by_chance,
                                    bool by_red) const noexcept;

  MarkConfig config_;
  Threshold probability_;
  Chance chance_;
};

/// Marks frames CE, by probability or by the emulated queue.
class Mark {
 public:
  static constexpr Stage kNumber = Stage::mark;
  static constexpr std::string_view kName = "mark";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {
      Hook::number,        Hook::apply, Hook::leave,   Hook::acts_on_leaving,
      Hook::reads_headers, Hook::edits, Hook::read,    Hook::settings,
      Hook::describe,      Hook::audit, Hook::figures, Hook::report};

  struct Settings {
    std::optional<MarkConfig> mark = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    std::uint64_t markable = 0;        // frames that reached the stage
    std::uint64_t judged_leaving = 0;  // by RED, when they left the queue
    std::uint64_t chosen_to_mark = 0;  // by probability or queue, whatever their headers contain
    std::uint64_t not_ect = 0;         // selected, but not ECN-capable
    RedStats red;
    void add(const Stats& other) noexcept {
      markable += other.markable;
      judged_leaving += other.judged_leaving;
      chosen_to_mark += other.chosen_to_mark;
      not_ect += other.not_ect;
    }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool edits(const RuleConfig& rule) noexcept { return present(rule); }
  static bool reads_headers(const RuleConfig& rule) noexcept { return present(rule); }
  Mark(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats, const roce::Envelope& envelope) const noexcept;
  static bool acts_on_leaving(const RuleConfig& rule) noexcept;
  void leave(Passage& p, Stats& stats, const roce::Envelope& envelope) const noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static const FigureTable& figures();
  static void report(const RuleStats& stats, StageLines& lines);

 private:
  static void apply(MarkVerdict verdict, Passage& p, Stats& stats) noexcept;

  Marker marker_;
};

}  // namespace lw::emulator
