// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>
#include <string>

#include "impair/ledger/ledger_file.h"
#include "impair/loop/way.h"
#include "profile/impair_profile.h"

namespace lw::impair {

/// A direction's pipeline, as a profile asks for it; `known`: see path::Pipeline.
path::Pipeline pipeline_of(const profile::ImpairProfile& profile, path::Direction direction,
                           std::span<const std::string> known = {});
/// The same, where the two directions tell each other of connections: only events ask for them.
path::Pipeline pipeline_of(const profile::ImpairProfile& profile, path::Direction direction,
                           std::span<const std::string> known,
                           const std::shared_ptr<path::CmExchange>& exchange);

RuleNames rule_names_of(const profile::ImpairProfile& profile);

/// What both directions follow from the next turn on.
struct Configuration {
  Configuration(const profile::ImpairProfile& profile, const RuleNames& known);
  [[nodiscard]] RuleNames names() const {
    return {eastward.pipeline.rule_names(), westward.pipeline.rule_names()};
  }
  std::shared_ptr<path::CmExchange> exchange = std::make_shared<path::CmExchange>();
  FrameLane::Standby eastward, westward;
  Duration longest_stay;
};

}  // namespace lw::impair
