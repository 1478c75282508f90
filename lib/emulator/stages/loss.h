// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "emulator/random/correlated_draw.h"
#include "emulator/random/loss_config.h"
#include "emulator/stage.h"

namespace lw::emulator {

/// The inputs of a loss model.
struct LossInput {
  std::uint64_t number;  // ingress frame number: selects this frame's draws
  std::uint64_t nth;     // number of earlier frames that reached this stage
  std::uint32_t bytes;   // without FCS
};

/// Loses each frame with the same probability, independently of others.
class IndependentLoss {
 public:
  explicit IndependentLoss(double probability) noexcept : below_(probability) {}
  bool operator()(const LossInput& in, const Chance& chance) const noexcept {
    return below_.hit(chance.bits(in.number));
  }

 private:
  Threshold below_;
};

/// As in netem, each draw resembles the one before.
class CorrelatedLoss {
 public:
  CorrelatedLoss(const CorrelatedLosses& m, const Chance& chance) noexcept
      : draw_(m.probability, m.correlation, chance) {}
  bool operator()(const LossInput& in, const Chance& chance) noexcept {
    return draw_.hit(chance.bits(in.number));
  }

 private:
  CorrelatedDraw draw_;
};

class GilbertElliottLoss {
 public:
  explicit GilbertElliottLoss(const GilbertElliott& m) noexcept
      : worse_(m.p), better_(m.r), bad_(m.bad_loss), good_(m.good_loss) {}
  /// As in netem, the state before the step determines the loss.
  bool operator()(const LossInput& in, const Chance& chance) noexcept {
    const bool bad = in_bad_;
    if ((bad ? better_ : worse_).hit(chance.bits(in.number))) in_bad_ = !in_bad_;
    return (bad ? bad_ : good_).hit(chance.bits(in.number, 1));
  }

 private:
  Threshold worse_, better_, bad_, good_;
  bool in_bad_ = false;
};

class FourStateLoss {
 public:
  explicit FourStateLoss(const FourState& m) noexcept
      : p14_(m.p14),
        p14_or_13_(m.p14 + m.p13),
        p23_(m.p23),
        p32_(m.p32),
        p32_or_31_(m.p32 + m.p31) {}
  bool operator()(const LossInput& in, const Chance& chance) noexcept;

 private:
  enum class State : std::uint8_t { arrives_in_gap, arrives_in_burst, lost_in_burst, lost_in_gap };
  State state_ = State::arrives_in_gap;
  Threshold p14_, p14_or_13_, p23_, p32_, p32_or_31_;
};

class BurstLoss {
 public:
  explicit BurstLoss(const Bursts& m) noexcept
      : begins_(m.probability),
        shortest_(m.shortest),
        lengths_(m.longest - m.shortest + 1),
        measured_(m.lengths.empty()
                      ? nullptr
                      : std::make_shared<const std::vector<std::uint32_t>>(m.lengths)) {}
  bool operator()(const LossInput& in, const Chance& chance) noexcept {
    if (left_ > 0) return left_--, true;
    if (!begins_.hit(chance.bits(in.number))) return false;
    const double drawn = chance.uniform(in.number, 1);
    left_ = (measured_ ? (*measured_)[static_cast<std::size_t>(
                             drawn * static_cast<double>(measured_->size()))]
                       : shortest_ + static_cast<std::uint32_t>(drawn * lengths_)) -
            1;
    return true;
  }

 private:
  Threshold begins_;
  std::uint32_t shortest_, lengths_;
  std::shared_ptr<const std::vector<std::uint32_t>> measured_;  // null: even
  std::uint32_t left_ = 0;
};

class EveryNthLoss {
 public:
  explicit EveryNthLoss(const EveryNth& m) noexcept : n_(m.n), left_(m.n) {}
  bool operator()(const LossInput& /*in*/, const Chance& /*chance*/) noexcept {
    if (--left_ > 0) return false;
    left_ = n_;
    return true;
  }

 private:
  std::uint64_t n_, left_;
};

class PatternLoss {
 public:
  explicit PatternLoss(const BitPattern& m) : lost_(m.lost) {}
  bool operator()(const LossInput& in, const Chance& /*chance*/) const noexcept {
    return lost_[in.nth % lost_.size()];
  }

 private:
  std::vector<bool> lost_;
};

/// Loses a frame with a probability that depends on its length; a table holds it for each length.
class BitErrorLoss {
 public:
  explicit BitErrorLoss(const BitErrors& m);
  bool operator()(const LossInput& in, const Chance& chance) const noexcept {
    const std::size_t row = in.bytes < of_length_.size() ? in.bytes : of_length_.size() - 1;
    return of_length_[row].hit(chance.bits(in.number));
  }

 private:
  std::vector<Threshold> of_length_;
};

class ListedLoss {
 public:
  explicit ListedLoss(const ListedFrames& m) : frames_(m.frames) {}
  bool operator()(const LossInput& in, const Chance& /*chance*/) noexcept {
    if (next_ == frames_.size() || frames_[next_] != in.nth) return false;
    ++next_;
    return true;
  }

 private:
  std::vector<std::uint64_t> frames_;
  std::size_t next_ = 0;
};

/// Applies a loss model to each frame that reaches the loss stage. A model with a state takes one
/// step per frame; its draws are addressed by the frame's ingress number.
class LossModel {
 public:
  LossModel(const LossConfig& config, Chance chance);

  [[nodiscard]] bool drops(std::uint64_t ingress_number, std::uint32_t bytes) noexcept {
    const LossInput in{ingress_number, frames_++, bytes};
    return std::visit([&](auto& model) { return model(in, chance_); }, model_);
  }

 private:
  using Model = std::variant<IndependentLoss, CorrelatedLoss, GilbertElliottLoss, FourStateLoss,
                             BurstLoss, EveryNthLoss, PatternLoss, BitErrorLoss, ListedLoss>;
  static Model model_of(const LossConfig& config, const Chance& chance);

  Model model_;
  Chance chance_;
  std::uint64_t frames_ = 0;
};

/// Number of losses, and of consecutive losses.
struct LossStats {
  static constexpr std::size_t kRuns = 64;

  std::uint64_t frames = 0, lost = 0;
  /// Number of finished runs of 1, 2, ... lost frames; the last element counts all longer runs.
  std::array<std::uint64_t, kRuns> runs{};
  std::uint64_t run = 0;  // length of the current run

  void add(bool is_lost) noexcept {
    ++frames;
    if (is_lost) {
      ++lost;
      ++run;
    } else if (run > 0) {
      ++runs[std::min<std::uint64_t>(run, kRuns) - 1];
      run = 0;
    }
  }
  void add(const LossStats& other) noexcept {
    frames += other.frames;
    lost += other.lost;
    for (std::size_t i = 0; i < kRuns; ++i) runs[i] += other.runs[i];
  }
  /// `runs`, without the zeros at its end.
  [[nodiscard]] std::span<const std::uint64_t> finished_runs() const noexcept;
  static const FigureTable& figures();
};

/// Counters of frames of similar length.
struct LengthStats {
  std::uint64_t frames = 0, bytes = 0;

  void add(std::uint32_t length) noexcept {
    ++frames;
    bytes += length;
  }
};

/// Loses frames by the rule's model, or with the probability in the rule's trace.
class Loss {
 public:
  static constexpr Stage kNumber = Stage::loss;
  static constexpr std::string_view kName = "loss";
  static constexpr bool kActsOnBatch = false;
  static constexpr bool kMayPause = true;
  static constexpr HookSet kHooks = {Hook::number,   Hook::apply,          Hook::fits_short_path,
                                     Hook::inherit,  Hook::inherit_counts, Hook::read,
                                     Hook::describe, Hook::audit,          Hook::figures};

  struct Settings {
    LossConfig loss = 0.0;
    friend bool operator==(const Settings&, const Settings&) = default;
  };
  struct Stats {
    LossStats loss;  // losses by the rule's own model
    /// Frames that reached the model, by length in steps of 64 B; the last element counts all
    /// longer ones.
    static constexpr std::uint32_t kLengthStep = 64, kLengths = 160;
    std::array<LengthStats, kLengths> lengths{};
    void add(const Stats& other) noexcept { loss.add(other.loss); }
  };

  static bool present(const RuleConfig& rule) noexcept;
  static bool fits_short_path(const RuleConfig& /*rule*/) noexcept { return true; }
  Loss(const RuleConfig& rule, const StageSetup& setup);

  void apply(Passage& p, Stats& stats) noexcept {
    const auto by_trace = p.row ? drops_by_trace(p) : std::nullopt;
    if (by_trace ? *by_trace : active_ && drops(p.number, p.bytes, stats)) p.decision.drop(kNumber);
  }
  /// Returns true if the model loses the frame. Requires loses(rule.loss).
  [[nodiscard]] bool drops(std::uint64_t number, std::uint32_t bytes, Stats& stats) noexcept {
    const bool lost = model_.drops(number, bytes);
    stats.loss.add(lost);
    const std::uint32_t step = bytes / Stats::kLengthStep;
    stats.lengths[std::min(step, Stats::kLengths - 1)].add(bytes);
    return lost;
  }
  void inherit(Loss& old, const RuleConfig& rule, const RuleConfig& old_rule) noexcept;
  /// Carries the counters over as long as the model is unchanged, because losses may depend on
  /// earlier ones.
  static void inherit_counts(Stats& stats, Stats& old, const RuleConfig& rule,
                             const RuleConfig& old_rule) noexcept;

  static void read(const StageKeys& rule, Settings& settings);
  static void describe(const RuleConfig& rule, StageTexts& texts);
  static void audit(const RuleConfig& rule, const RuleStats& stats, std::vector<Check>& checks);
  static const FigureTable& figures();

 private:
  /// Returns nothing if the trace's row has no loss.
  std::optional<bool> drops_by_trace(const Passage& p) const noexcept;

  LossModel model_;
  Chance chance_;
  bool active_;  // true if the model can lose a frame
};

}  // namespace lw::emulator
