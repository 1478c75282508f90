// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "path/rule.h"

namespace lw::path {

/// All rules of one direction: the first that matches decides. It remembers what its stages need
/// to (a queue's bytes, a model's state); its configuration never changes. One thread.
class Pipeline {
 public:
  Pipeline(Direction direction, std::uint64_t seed, std::span<const RuleConfig> rules);

  /// What becomes of a frame; numbers rise by one a frame, and time never runs backwards.
  [[nodiscard]] Decision decide(const Arrival& arrival) noexcept {
    for (Rule& rule : rules_)
      if (rule.matches(arrival.bth)) return rule.decide(arrival);
    return {};
  }
  /// The rule that a decision names.
  [[nodiscard]] Rule& rule(RuleIndex index) noexcept { return rules_[index]; }
  [[nodiscard]] const std::vector<Rule>& rules() const noexcept { return rules_; }

  [[nodiscard]] Direction direction() const noexcept { return direction_; }
  /// This direction's rules; a Decision's rule indexes them.
  [[nodiscard]] const std::vector<RuleConfig>& configs() const noexcept { return configs_; }
  [[nodiscard]] const std::vector<std::string>& rule_names() const noexcept { return names_; }
  /// How many lines frames wait on; those of rules with the same constant delay share one.
  [[nodiscard]] std::size_t lines() const noexcept { return lines_.size(); }
  /// Some frames' bytes may be changed.
  [[nodiscard]] bool edits() const noexcept { return edits_; }
  /// Some frames' releases come in no order.
  [[nodiscard]] bool uses_wheel() const noexcept { return uses_wheel_; }

 private:
  // With more lines, looking for the next release would cost more than the wheel does.
  static constexpr std::size_t kMostLines = 8;

  RuleLines lines_for(const RuleConfig& rule);
  LineIndex shared_line(Duration delay);
  LineIndex own_line();

  Direction direction_;
  std::vector<RuleConfig> configs_;
  std::vector<Rule> rules_;
  std::vector<std::string> names_;
  std::vector<std::optional<Duration>> lines_;  // the delay of a shared line
  bool edits_ = false, uses_wheel_ = false;
};

}  // namespace lw::path
