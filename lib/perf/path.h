// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/time.h"
#include "emulator/direction.h"
#include "emulator/events/event.h"
#include "emulator/rule_config.h"

namespace lw::perf {

/// The path between two hosts, as an impair profile describes it.
struct PathRules {
  std::uint64_t seed = 1;
  std::vector<emulator::RuleConfig> rules;
  std::vector<emulator::EventConfig> events;

  /// Lower bound of a RoCE packet's delay in this direction.
  [[nodiscard]] Duration least_delay(emulator::Direction direction) const noexcept;
  /// Whether a stage draws random numbers.
  [[nodiscard]] bool by_chance() const noexcept;
  /// Whether there is only a constant delay, the same for every RoCE packet of a direction.
  [[nodiscard]] bool plain() const noexcept;
  /// Adds independent loss and marking, probabilities in [0, 1], to all RoCE packets. A rule with
  /// another loss model keeps it.
  void add_faults(double loss, double marking);
};

/// The path between two hosts. Both directions are alike, except for their delay.
struct PerfPath {
  Duration one_way{};
  std::optional<Duration> way_back;  // delay of the way back, if it differs
  double rate_bps = 0;               // rate of a wavelength slower than the NICs, in b/s; 0: none
  std::uint64_t buffer_bytes = 64'000'000;  // of the switch before that wavelength
  /// Rules that replace the delays and the rate. Those are then nominal: the path's delay, and the
  /// rate of its slowest link.
  std::shared_ptr<const PathRules> rules;
  double loss = 0, marking = 0;  // probabilities per packet, in addition to the rules' own
  std::uint64_t seed = 1;        // of all random numbers
};

}  // namespace lw::perf
