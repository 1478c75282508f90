// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "emulator/random/correlated_draw.h"
#include "emulator/stage.h"
#include "roce/envelope.h"

namespace lw::emulator {

struct CorruptConfig {
  /// The part of a frame in which bits are flipped.
  enum class Part : std::uint8_t {
    packet,       // from the BTH to before the ICRC; for other frames all after the link header
    frame,        // the whole frame
    ip_checksum,  // a field of a header; frames without it are not corrupted
    udp_length,
    udp_checksum,
  };
  /// True if the part is a header's field.
  [[nodiscard]] bool of_header() const noexcept { return part >= Part::ip_checksum; }
  double probability = 0;
  std::uint32_t bits = 1;  // 1..64, all different
  Part part = Part::packet;
  /// Byte of the part at which consecutive bits are flipped; none: bits anywhere, at random.
  std::optional<std::uint32_t> offset = {};
  // Silent corruption: the ICRC is made valid again; no bits of it are flipped.
  bool recompute_icrc = false;
  double correlation = 0;  // see CorrelatedDraw
  friend bool operator==(const CorruptConfig&, const CorruptConfig&) = default;
  static const FigureTable& figures();
};

/// Flips bits in frames. The ingress frame number determines which frames and which bits.
class Corrupter {
 public:
  static constexpr std::uint32_t kMostBits = 64;

  Corrupter(const CorruptConfig& config, Chance chance) noexcept
      : config_(config), chance_(chance) {}

  /// Returns the draw that decides about a frame.
  [[nodiscard]] std::uint64_t draw(std::uint64_t number) const noexcept {
    return chance_.bits(number);
  }
  [[nodiscard]] const Chance& chance() const noexcept { return chance_; }

  /// Returns true if the frame has the part, is long enough for the configured offset, and if that
  /// does not lie in an ICRC that is recomputed.
  [[nodiscard]] bool reaches(const roce::Envelope& envelope) const noexcept {
    return (!config_.offset || has_offset(envelope)) &&
           (!config_.of_header() || has_field(envelope));
  }

  /// Flips bits of a selected frame. `frame` holds the envelope's bytes. Flips fewer bits if the
  /// part has fewer, and anywhere in the part if it ends before the offset. If the ICRC can't be
  /// found, it is not recomputed.
  void apply(wire::MutableBytes frame, const roce::Envelope& envelope,
             std::uint64_t number) const noexcept;

 private:
  [[nodiscard]] bool has_offset(const roce::Envelope& envelope) const noexcept;
  [[nodiscard]] bool has_field(const roce::Envelope& envelope) const noexcept;
  void flip_in_a_row(wire::MutableBytes part) const noexcept;
  void flip_at_random(wire::MutableBytes part, std::uint64_t number) const noexcept;
  void flip_besides(wire::MutableBytes part, std::size_t first, std::size_t count,
                    std::uint64_t number) const noexcept;

  CorruptConfig config_;
  Chance chance_;
};

/// Decides which frames are corrupted. The link flips their bits: see Corrupter::apply().
class Corrupt {
 public:
  static constexpr Stage kNumber = Stage::corrupt;
  static constexpr std::string_view kName = "corrupt";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {Hook::number,   Hook::apply,    Hook::reads_headers,
                                     Hook::edits,    Hook::inherit,  Hook::read,
                                     Hook::settings, Hook::describe, Hook::audit};

  struct Settings {
    std::optional<CorruptConfig> corrupt = {};
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    std::uint64_t corruptible = 0;  // frames that reached the stage and are long enough
    void add(const Stats& other) noexcept { corruptible += other.corruptible; }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool edits(const RuleConfig& rule) noexcept { return present(rule); }
  /// True if the place of the bits, or whether there is one, depends on the headers.
  static bool reads_headers(const RuleConfig& rule) noexcept;
  Corrupt(const RuleConfig& rule, const StageSetup& setup) noexcept;
  /// Returns the corrupter of a rule, or that for targeted events if the rule has no such stage.
  static Corrupter corrupter_of(const RuleConfig& rule, const StageSetup& setup) noexcept;

  void apply(Passage& p, Stats& stats, const roce::Envelope& envelope) noexcept {
    if (!corrupter_.reaches(envelope)) return;
    ++stats.corruptible;
    if (!draw_.hit(corrupter_.draw(p.number))) return;
    p.decision.corrupt = true;
    p.decision.act(kNumber);
  }

  void inherit(Corrupt& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static Figure settings();
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);

 private:
  Corrupter corrupter_;
  CorrelatedDraw draw_;
};

}  // namespace lw::emulator
