// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/configuration.h"

namespace lw::impair {

using emulator::Direction;

emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, Direction direction,
                               std::span<const std::string> known) {
  return {direction, profile.seed, profile.rules, profile.events, known};
}

emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, Direction direction,
                               std::span<const std::string> known,
                               const std::shared_ptr<emulator::CmExchange>& exchange) {
  emulator::Pipeline result = pipeline_of(profile, direction, known);
  if (!profile.events.empty()) result.events().join(exchange);
  return result;
}

RuleNames rule_names_of(const config::ImpairProfile& profile) {
  return {pipeline_of(profile, Direction::west_to_east).rule_names(),
          pipeline_of(profile, Direction::east_to_west).rule_names()};
}

Configuration::Configuration(const config::ImpairProfile& profile, const RuleNames& known)
    : eastward(pipeline_of(profile, Direction::west_to_east, known[0], exchange)),
      westward(pipeline_of(profile, Direction::east_to_west, known[1], exchange)),
      longest_stay(profile.longest_stay()) {}

}  // namespace lw::impair
