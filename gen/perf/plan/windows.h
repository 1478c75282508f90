// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include "gen/perf/plan/plan.h"
#include "perf/config.h"

namespace lw::gen::planning {

/// Times and windows of a run without losses. Times are in ns.
struct Windows {
  double round_trip = 0;    // from a message's last byte until its answer has arrived
  double line_message = 0;  // of a message on the link, or in the NIC if that is longer
  double message = 0;       // or in the receiver if that is longer still
  double cycle = 0;         // from a message's first byte until its answer has arrived, if alone
  double qp_message = 0;    // line_message, or the least time between two of a QP
  double packets = 1;       // of a message
  double qps = 1;
  double depth = 1;         // messages that a QP may have outstanding
  bool of_packets = false;  // a window of PSNs is smaller than these messages
  PlanLimit limit{};        // the smallest window
};

Windows windows_of(const perf::PerfConfig& config) noexcept;

/// The rate of payload without losses in b/s, where the windows or the link give it exactly: the
/// windows count whole messages, which leave the port as they were posted, one NIC or link is the
/// slowest for all of them, and no timer expires. Nothing otherwise.
std::optional<double> exact_rate(const perf::PerfConfig& config, const Windows& windows) noexcept;

/// Packets that the windows, or the link, have in flight in a round trip.
double packets_in_flight(const perf::PerfConfig& config, const Windows& windows) noexcept;

}  // namespace lw::gen::planning
