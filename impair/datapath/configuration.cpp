// SPDX-License-Identifier: BSD-3-Clause
#include "impair/datapath/configuration.h"

namespace lw::impair {

using emulator::Direction;

emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, Direction direction,
                               std::span<const std::string> known,
                               const std::shared_ptr<emulator::CmExchange>& exchange) {
  emulator::Pipeline pipeline(direction, profile.seed, profile.rules, profile.events, known);
  if (exchange && !profile.events.empty()) pipeline.events().join(exchange);
  return pipeline;
}

RuleNames rule_names_of(const config::ImpairProfile& profile) {
  return {pipeline_of(profile, Direction::west_to_east).rule_names(),
          pipeline_of(profile, Direction::east_to_west).rule_names()};
}

}  // namespace lw::impair
