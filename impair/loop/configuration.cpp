// SPDX-License-Identifier: BSD-3-Clause
#include "impair/loop/configuration.h"

namespace lw::impair {

using path::Direction;

path::Pipeline pipeline_of(const profile::ImpairProfile& profile, Direction direction,
                           std::span<const std::string> known) {
  return {direction, profile.seed, profile.rules, profile.events, known};
}

path::Pipeline pipeline_of(const profile::ImpairProfile& profile, Direction direction,
                           std::span<const std::string> known,
                           const std::shared_ptr<path::CmExchange>& exchange) {
  path::Pipeline result = pipeline_of(profile, direction, known);
  if (!profile.events.empty()) result.events().join(exchange);
  return result;
}

RuleNames rule_names_of(const profile::ImpairProfile& profile) {
  return {pipeline_of(profile, Direction::west_to_east).rule_names(),
          pipeline_of(profile, Direction::east_to_west).rule_names()};
}

Configuration::Configuration(const profile::ImpairProfile& profile, const RuleNames& known)
    : eastward(pipeline_of(profile, Direction::west_to_east, known[0], exchange)),
      westward(pipeline_of(profile, Direction::east_to_west, known[1], exchange)),
      longest_stay(profile.longest_stay()) {}

}  // namespace lw::impair
