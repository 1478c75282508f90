// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/time.h"
#include "path/loss.h"
#include "path/match.h"
#include "path/stage.h"

namespace lw::path {

/// A rule as a profile says it.
struct RuleConfig {
  std::string name;
  Match match = Match::rocev2;
  bool west_to_east = true, east_to_west = true;
  double loss = 0;                // probability
  std::optional<Duration> delay;  // none: what survives passes at once

  [[nodiscard]] bool applies(Direction direction) const noexcept {
    return direction == Direction::west_to_east ? west_to_east : east_to_west;
  }
};

enum class Action : std::uint8_t {
  pass,   // goes on at once
  queue,  // goes on at `release`
  drop,
};

using RuleIndex = std::uint16_t;
/// "No rule matched": the frame is none of our business.
inline constexpr RuleIndex kUntouched = 0xffff;

/// What becomes of a frame.
struct Decision {
  Action action = Action::pass;
  Stage stage = Stage::none;  // the last one that acted
  RuleIndex rule = kUntouched;
  std::uint16_t line = 0;  // of the release queue; for Action::queue
  Instant release = {};    // for Action::queue
};

/// A rule's stages for one direction, ready to decide. Stages stand in the order of enum Stage;
/// one that the profile doesn't ask for isn't there.
class Rule {
 public:
  /// `line`: where its frames wait for their release.
  Rule(const RuleConfig& config, Direction direction, std::uint64_t seed, RuleIndex index,
       std::uint16_t line)
      : match_(config.match), index_(index), line_(line), delay_(config.delay) {
    if (config.loss > 0)
      loss_.emplace(config.loss, chance_of(seed, direction, config.name, Stage::loss));
  }

  [[nodiscard]] bool matches(const wire::Bth* bth) const noexcept {
    return path::matches(match_, bth);
  }

  [[nodiscard]] Decision decide(std::uint64_t ingress_number, Instant now) const noexcept {
    if (loss_ && loss_->drops(ingress_number)) return {Action::drop, Stage::loss, index_, 0, {}};
    if (delay_) return {Action::queue, Stage::delay, index_, line_, now + *delay_};
    return {Action::pass, Stage::none, index_, 0, {}};
  }

 private:
  Match match_;
  RuleIndex index_;
  std::uint16_t line_;
  std::optional<Loss> loss_;
  std::optional<Duration> delay_;
};

}  // namespace lw::path
