// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/perf.h"

namespace lw::gen {

/// What limits a transfer.
enum class Limit : std::uint8_t { line, receiver, tx_depth, outstanding_wqes, reads, psn_window };

std::string_view name_of(Limit limit) noexcept;  // "tx depth"

/// What a path needs from its endpoints, by closed formulas: throughput is the lesser of the link's
/// goodput and window x size / (round trip + a message's time on the link).
struct Plan {
  Duration round_trip{};         // NICs included
  double bdp_bytes = 0;          // round trip x link rate
  double goodput_bps = 0;        // payload that the link carries in messages of this size
  std::uint64_t needed = 0;      // outstanding messages that fill the link
  std::uint64_t configured = 0;  // messages that may be outstanding, all QPs together
  std::uint64_t qps_needed = 0;  // with the configured window of a QP
  double throughput_bps = 0;     // of this configuration
  Limit limit{};
  double window_packets = 0;       // sent in a round trip at that throughput
  double loss_for_90_percent = 0;  // loss at which go-back-N delivers 90 % of it
};

Plan plan(const sim::PerfConfig& config) noexcept;
std::string plan_text(const sim::PerfConfig& config, const Plan& plan);
std::string plan_json(const sim::PerfConfig& config, const Plan& plan);

}  // namespace lw::gen
