// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>

#include "config/impair/profile.h"
#include "impair/datapath/way.h"
#include "impair/record/ledger_file.h"

namespace lw::impair {

/// A direction's pipeline, as a profile asks for it; `known`: see emulator::Pipeline.
emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, emulator::Direction direction,
                               std::span<const std::string> known = {});
/// The same, where the two directions tell each other of connections: only events ask for them.
emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, emulator::Direction direction,
                               std::span<const std::string> known,
                               const std::shared_ptr<emulator::CmExchange>& exchange);

RuleNames rule_names_of(const config::ImpairProfile& profile);

/// What both directions follow from the next turn on.
struct Configuration {
  Configuration(const config::ImpairProfile& profile, const RuleNames& known);
  [[nodiscard]] RuleNames names() const {
    return {eastward.pipeline.rule_names(), westward.pipeline.rule_names()};
  }
  std::shared_ptr<emulator::CmExchange> exchange = std::make_shared<emulator::CmExchange>();
  FrameLink::Standby eastward, westward;
  Duration longest_stay;
};

}  // namespace lw::impair
