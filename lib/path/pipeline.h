// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "path/rule.h"

namespace lw::path {

/// All rules of one direction: the first that matches decides. Immutable once built, so that a
/// new one can take its place between two bursts.
class Pipeline {
 public:
  Pipeline(Direction direction, std::uint64_t seed, std::span<const RuleConfig> rules);

  [[nodiscard]] Decision decide(const wire::Bth* bth, std::uint64_t ingress_number,
                                Instant now) const noexcept {
    for (const Rule& rule : rules_)
      if (rule.matches(bth)) return rule.decide(ingress_number, now);
    return {};
  }

  [[nodiscard]] Direction direction() const noexcept { return direction_; }
  /// The names of this direction's rules; a Decision's rule indexes it.
  [[nodiscard]] const std::vector<std::string>& rule_names() const noexcept { return names_; }
  /// The delay of each line of the release queue; frames on one line leave as they came.
  [[nodiscard]] const std::vector<Duration>& lines() const noexcept { return lines_; }
  [[nodiscard]] Duration longest_delay() const noexcept;

 private:
  std::uint16_t line_for(Duration delay);

  Direction direction_;
  std::vector<Rule> rules_;
  std::vector<std::string> names_;
  std::vector<Duration> lines_;
};

}  // namespace lw::path
