// SPDX-License-Identifier: BSD-3-Clause
#include "path/pipeline.h"

#include <algorithm>

namespace lw::path {

Pipeline::Pipeline(Direction direction, std::uint64_t seed, std::span<const RuleConfig> rules)
    : direction_(direction) {
  for (const RuleConfig& rule : rules) {
    if (!rule.applies(direction)) continue;
    const auto line = rule.delay ? line_for(*rule.delay) : std::uint16_t{0};
    rules_.emplace_back(rule, direction, seed, static_cast<RuleIndex>(names_.size()), line);
    names_.push_back(rule.name);
  }
}

/// Rules of the same delay share a line: their frames leave in the order in which they came.
std::uint16_t Pipeline::line_for(Duration delay) {
  const auto found = std::ranges::find(lines_, delay);
  const auto line = static_cast<std::uint16_t>(found - lines_.begin());
  if (found == lines_.end()) lines_.push_back(delay);
  return line;
}

Duration Pipeline::longest_delay() const noexcept {
  return lines_.empty() ? Duration{} : *std::ranges::max_element(lines_);
}

}  // namespace lw::path
