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
#include "emulator/events/cm_exchange.h"
#include "emulator/link.h"
#include "emulator/pipeline.h"
#include "impair/record/binary_ledger.h"

namespace lw::impair {

/// Builds the pipeline of one direction. `known`: see emulator::Pipeline. `exchange` passes on
/// connection set-up that the other direction has seen; null if there is no other direction. Only
/// events use it.
emulator::Pipeline pipeline_of(const config::ImpairProfile& profile, emulator::Direction direction,
                               std::span<const std::string> known = {},
                               const std::shared_ptr<emulator::CmExchange>& exchange = nullptr);

/// Returns the names of the rules that apply to each direction, in the order of the profile.
RuleNames rule_names_of(const config::ImpairProfile& profile);

/// Pipelines of both directions, prepared outside the data path for Forwarder::apply().
template <class Link>
class Configuration {
 public:
  /// `known`: the present rule names. `both`: the forwarder forwards in both directions.
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
  /// The pipelines of both directions; after Forwarder::replace() those that it has replaced.
  [[nodiscard]] std::array<const emulator::Pipeline*, 2> pipelines() const noexcept {
    return {&eastward_.pipeline, &westward_.pipeline};
  }
  /// Longest time that a frame stays inside.
  [[nodiscard]] Duration longest_stay() const noexcept { return longest_stay_; }

 private:
  std::shared_ptr<emulator::CmExchange> exchange_;
  typename Link::PreparedPipeline eastward_, westward_;
  Duration longest_stay_;
};

/// Buffers and memory that a profile needs, computed from its longest delay, rate and frame sizes.
struct Sizing {
  std::uint64_t frames_per_direction = 0;  // in flight, plus 25 %; at least 1024
  std::uint32_t buffers = 0;       // of both directions, with those that ports and bursts hold
  std::uint64_t buffer_bytes = 0;  // of all buffers
  std::uint64_t arena_bytes = 0;   // for one direction's waiting frames; 0: they stay in buffers
  std::uint64_t queue_bytes = 0;   // of both release queues
  std::uint64_t stage_bytes = 0;   // of the rules' emulated queues, in both directions
  [[nodiscard]] std::uint64_t memory() const noexcept {
    return buffer_bytes + 2 * arena_bytes + queue_bytes + stage_bytes;
  }
};

/// Memory of the rules' emulated queues in both directions, in bytes.
std::uint64_t stage_bytes(const config::ImpairProfile& profile) noexcept;

/// Returns the size of buffers, arenas and queues for a profile.
Sizing size_for(const config::ImpairProfile& profile);
/// Returns the configuration of each direction's link.
emulator::LinkConfig link_config(const config::ImpairProfile& profile);

/// Returns the error "not enough memory" (environment) with the calculation of arithmetic().
std::unexpected<Error> not_enough_memory(const config::ImpairProfile& profile,
                                         std::uint64_t available_bytes);
/// Returns not_enough_memory() if the profile needs more than `available_bytes`. 0 means unknown
/// and is no error.
Result<void> check_memory(const config::ImpairProfile& profile, std::uint64_t available_bytes);
/// Returns MemAvailable of /proc/meminfo, in bytes; 0 if it is unknown.
std::uint64_t available_memory();

/// Returns the calculation of Sizing as text: "100.00 Gb/s x (1.903507 ms + 5 ms in reserve) =
/// 86.29 MB in flight each way; ..."
std::string arithmetic(const config::ImpairProfile& profile);

}  // namespace lw::impair
