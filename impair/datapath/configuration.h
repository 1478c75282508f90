// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "config/impair/profile.h"
#include "core/error.h"
#include "emulator/events/cm_learner.h"
#include "emulator/link.h"
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

/// What a profile needs room for, from its delay, rate and smallest frame.
struct Sizing {
  std::uint64_t frames_per_direction = 0;  // in flight, with a quarter to spare
  std::uint32_t buffers = 0;               // both directions, and what ports and bursts hold
  std::uint64_t buffer_bytes = 0;          // of all buffers
  std::uint64_t arena_bytes = 0;           // of one direction's waiting frames; 0: in buffers
  std::uint64_t queue_bytes = 0;           // of both release queues
  std::uint64_t stage_bytes = 0;           // of the rules' emulated queues, in both directions
  [[nodiscard]] std::uint64_t memory() const noexcept {
    return buffer_bytes + 2 * arena_bytes + queue_bytes + stage_bytes;
  }
};

/// Memory of the rules' emulated queues, in both directions.
std::uint64_t stage_bytes(const config::ImpairProfile& profile) noexcept;

Sizing size_for(const config::ImpairProfile& profile);
emulator::LinkConfig link_config(const config::ImpairProfile& profile);

/// The error (environment), with the arithmetic.
std::unexpected<Error> not_enough_memory(const config::ImpairProfile& profile,
                                         std::uint64_t available_bytes);
/// The same where the machine has less memory available.
Result<void> check_memory(const config::ImpairProfile& profile, std::uint64_t available_bytes);
/// What /proc/meminfo says is available; 0 where it says nothing.
std::uint64_t available_memory();

/// "100.00 Gb/s x (1.903507 ms + 5 ms in reserve) = 86.29 MB in flight each way; ..."
std::string arithmetic(const config::ImpairProfile& profile);

}  // namespace lw::impair
