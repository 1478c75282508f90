// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "path/classifier.h"
#include "path/events.h"
#include "path/rule.h"

namespace lw::path {

/// All rules of one direction: the first that matches decides, after the events that are aimed at
/// single packets. It remembers what its stages and events need to (a queue's bytes, a model's
/// state, the QPs seen); its configuration never changes. One thread.
class Pipeline {
 public:
  Pipeline(Direction direction, std::uint64_t seed, std::span<const RuleConfig> rules,
           std::span<const EventConfig> events = {});

  /// What becomes of a frame; numbers rise by one a frame, and time never runs backwards.
  [[nodiscard]] Decision decide(const Arrival& arrival) noexcept {
    const RuleIndex index = classifier_.classify(arrival.envelope, arrival.bth);
    if (arrival.bth && events_.listening())
      return rule(index).decide(arrival, events_.on_packet(arrival.envelope, *arrival.bth));
    return index == kUntouched ? Decision{} : rules_[index].decide(arrival);
  }
  /// The rule that a decision names; kUntouched is one without stages.
  [[nodiscard]] Rule& rule(RuleIndex index) noexcept {
    return index == kUntouched ? untouched_ : rules_[index];
  }
  [[nodiscard]] Events& events() noexcept { return events_; }
  [[nodiscard]] const Events& events() const noexcept { return events_; }
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
  Rule untouched_;
  Classifier classifier_;
  Events events_;
  std::vector<std::string> names_;
  std::vector<std::optional<Duration>> lines_;  // the delay of a shared line
  bool edits_ = false, uses_wheel_ = false;
};

}  // namespace lw::path
