// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/impair/profile.h"
#include "emulator/events/cm_learner.h"
#include "emulator/pipeline.h"
#include "impair/record/binary_ledger.h"

namespace lw::impair {

/// The pipeline of one direction. `known`: see emulator::Pipeline. `exchange`: connection set-up
/// seen by the other direction, null where there is none; only events use it.
emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, emulator::Direction direction,
                               std::span<const std::string> known = {},
                               const std::shared_ptr<emulator::CmExchange>& exchange = nullptr);

RuleNames rule_names_of(const config::ImpairProfile& profile);

/// Pipelines of both directions, prepared outside the data path for Forwarder::apply().
template <class Link>
class Configuration {
 public:
  /// `known`: the rule names in force. `both`: the forwarder forwards in both directions.
  Configuration(const config::ImpairProfile& profile, const RuleNames& known, bool both = true)
      : exchange_(both ? std::make_shared<emulator::CmExchange>() : nullptr),
        eastward_(pipeline_of(profile, emulator::Direction::west_to_east, known[0], exchange_)),
        westward_(pipeline_of(profile, emulator::Direction::east_to_west, known[1], exchange_)),
        longest_stay_(profile.longest_stay()) {}

  [[nodiscard]] RuleNames names() const {
    return {eastward_.pipeline.rule_names(), westward_.pipeline.rule_names()};
  }
  [[nodiscard]] typename Link::PreparedPipeline& prepared(emulator::Direction direction) noexcept {
    return direction == emulator::Direction::west_to_east ? eastward_ : westward_;
  }
  /// The longest time that a frame stays inside.
  [[nodiscard]] Duration longest_stay() const noexcept { return longest_stay_; }

 private:
  std::shared_ptr<emulator::CmExchange> exchange_;
  typename Link::PreparedPipeline eastward_, westward_;
  Duration longest_stay_;
};

}  // namespace lw::impair
