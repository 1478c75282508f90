// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/stage.h"
#include "roce/envelope.h"

namespace lw::emulator {

/// Sets the DSCP or the ECN field of a share of the frames, as networks do that classify anew, or
/// that erase ECN ("bleaching").
struct RewriteConfig {
  double probability = 1;
  std::optional<std::uint8_t> dscp = {};  // 0..63
  std::optional<std::uint8_t> ecn = {};   // 0..3; 0 erases ECN

  /// The changed bits of the traffic class, and their values.
  [[nodiscard]] std::uint8_t mask() const noexcept {
    return static_cast<std::uint8_t>((dscp ? 0xfc : 0) | (ecn ? 3 : 0));
  }
  [[nodiscard]] std::uint8_t value() const noexcept {
    return static_cast<std::uint8_t>(dscp.value_or(0) << 2 | ecn.value_or(0));
  }
  friend bool operator==(const RewriteConfig&, const RewriteConfig&) = default;
  static const FigureTable& figures();
};

/// What rewriting did to the frames whose fields changed.
struct RewriteStats {
  std::uint64_t dscp_changed = 0;
  std::uint64_t ect_erased = 0;  // said ECT, and no longer do: no mark can reach them
  std::uint64_t ce_erased = 0;   // had a mark of the network before

  void add(const RewriteStats& other) noexcept {
    dscp_changed += other.dscp_changed;
    ect_erased += other.ect_erased;
    ce_erased += other.ce_erased;
  }
  friend bool operator==(const RewriteStats&, const RewriteStats&) = default;
  static const FigureTable& figures();
};

/// Decides which frames are rewritten. The link changes them: see roce::set_traffic_class(). Stages
/// after this one see the new ECN field.
class Rewrite {
 public:
  static constexpr Stage kNumber = Stage{12};
  static constexpr std::string_view kName = "rewrite";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {
      Hook::number,   Hook::apply,    Hook::reads_headers, Hook::edits,   Hook::read,
      Hook::settings, Hook::describe, Hook::audit,         Hook::figures, Hook::report};

  struct Settings {
    std::optional<RewriteConfig> rewrite = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    std::uint64_t rewritable = 0;       // IP frames that reached the stage
    std::uint64_t chosen_to_write = 0;  // also those that had the values before
    RewriteStats rewritten;
    void add(const Stats& other) noexcept {
      rewritable += other.rewritable;
      chosen_to_write += other.chosen_to_write;
      rewritten.add(other.rewritten);
    }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool edits(const RuleConfig& rule) noexcept { return present(rule); }
  static bool reads_headers(const RuleConfig& rule) noexcept { return present(rule); }
  Rewrite(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats, const roce::Envelope& envelope) const noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static const FigureTable& figures();
  static void report(const RuleStats& stats, StageLines& lines);

 private:
  RewriteConfig config_;
  Threshold probability_;
  Chance chance_;
};

/// "DSCP 0 and ECN not-ect": what the frames get.
std::string text_of(const RewriteConfig& rewrite);

}  // namespace lw::emulator
