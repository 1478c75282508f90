// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/stages/stage.h"
#include "roce/envelope.h"

namespace lw::emulator {

struct CorruptConfig {
  /// Where bits are flipped.
  enum class Part : std::uint8_t {
    packet,  // from the BTH to before the ICRC; of a frame that isn't RoCE, behind the link header
    frame,   // everything
  };
  double probability = 0;
  std::uint32_t bits = 1;  // 1..64, different ones
  Part part = Part::packet;
  /// Byte of the part at which the bits begin, one after the other; none: anywhere, at random.
  std::optional<std::uint32_t> offset = {};
  bool recompute_icrc = false;  // silent corruption: the ICRC is made right again
  friend bool operator==(const CorruptConfig&, const CorruptConfig&) = default;
};

/// Flips bits in frames. Which frames and which bits follow from the ingress number.
class Corrupter {
 public:
  static constexpr std::uint32_t kMostBits = 64;

  Corrupter(const CorruptConfig& config, Chance chance) noexcept
      : config_(config), probability_(config.probability), chance_(chance) {}

  [[nodiscard]] bool hits(std::uint64_t number) const noexcept {
    return probability_.hit(chance_.bits(number));
  }

  /// Whether the frame is long enough to have the byte at which bits are to be flipped.
  [[nodiscard]] bool reaches(const roce::Envelope& envelope) const noexcept {
    return !config_.offset || has_offset(envelope);
  }

  /// Flips a hit frame's bits. `frame` holds the envelope's bytes; as many bits are flipped as the
  /// part has room for, and anywhere in it where it ends before the offset. Where the ICRC is to be
  /// recomputed but can't be found, it stays.
  void apply(wire::MutableBytes frame, const roce::Envelope& envelope,
             std::uint64_t number) const noexcept;

 private:
  [[nodiscard]] bool has_offset(const roce::Envelope& envelope) const noexcept;
  void flip_in_a_row(wire::MutableBytes part) const noexcept;
  void flip_at_random(wire::MutableBytes part, std::uint64_t number) const noexcept;

  CorruptConfig config_;
  Threshold probability_;
  Chance chance_;
};

/// Decides which frames are corrupted. The link flips their bits: see Corrupter::apply().
class Corrupt {
 public:
  static constexpr Stage kNumber = Stage::corrupt;
  static constexpr std::string_view kName = "corrupt";
  static constexpr bool kActsOnBatch = false;

  struct Settings {
    std::optional<CorruptConfig> corrupt = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    std::uint64_t corruptible = 0;  // frames that came to the stage and are long enough
    void add(const Stats& other) noexcept { corruptible += other.corruptible; }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool edits(const RuleConfig& rule) noexcept { return present(rule); }
  /// `offset` counts from the packet's start, which only the headers tell.
  static bool reads_headers(const RuleConfig& rule) noexcept;
  Corrupt(const RuleConfig& rule, const StageSetup& setup) noexcept;
  /// The corrupter of a rule, or the one for targeted events where the rule has no such stage.
  static Corrupter corrupter_of(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats, const roce::Envelope& envelope) const noexcept {
    if (!corrupter_.reaches(envelope)) return;
    ++stats.corruptible;
    if (!corrupter_.hits(p.number)) return;
    p.decision.corrupt = true;
    p.decision.act(kNumber);
  }

  static void read(const StageKeys& rule, Settings& settings);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);

 private:
  Corrupter corrupter_;
};

}  // namespace lw::emulator
