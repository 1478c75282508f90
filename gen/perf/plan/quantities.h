// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/perf/plan/plan.h"
#include "perf/config.h"

/// The model behind plan(): each file has one part of it.
namespace lw::gen::planning {

/// Whether the receiver takes SENDs at a limited rate.
bool limits_sends(const perf::PerfConfig& config) noexcept;
/// Whether requests are repeated selectively; those of READs and atomics never are.
bool is_selective(const perf::PerfConfig& config) noexcept;
/// Whether packets wait behind the sender's port, with the timer running: for a slower wavelength,
/// or for a receiver that is slower than the link.
bool queues_behind_port(const perf::PerfConfig& config) noexcept;

/// The inputs of the formulas: times in ns, windows of one QP.
struct Quantities {
  double round_trip = 0;    // from a packet's last byte until its answer has arrived
  double line_message = 0;  // on the link, or in the NIC if that is longer
  double message = 0;       // in the receiver if that is longer still
  double packet = 0;        // mean time of a packet there
  double rest = 0;          // time that the NIC still takes when a message has left
  double packets = 1;       // of a message
  double qps = 1;
  double depth = 1;      // messages outstanding
  double psns = 0;       // packets outstanding, SEND and WRITE; 0: more than depth x packets
  double read_psns = 0;  // packets outstanding, READ; also included in `depth`
  PlanLimit limit{};     // the smallest window
  double window() const noexcept { return psns > 0 ? psns : depth * packets; }
};

/// Whether the windows fill the link. `lossless`: packets per ns of all QPs.
inline bool fills_link(const Quantities& given, double lossless) noexcept {
  constexpr double kFull = 0.999;
  return lossless * given.packet > kFull;
}
Quantities quantities_of(const perf::PerfConfig& config) noexcept;

/// Whether several QPs have messages longer than a burst of the arbitration.
bool take_turns(const perf::PerfConfig& config, const Quantities& given) noexcept;
/// Returns the share of the READs or atomics of a window that wait at the responder, because
/// requests come faster than the responses to them leave.
double queued_share(const perf::PerfConfig& config, const Quantities& given) noexcept;
/// How many READs or atomics of a QP wait at the responder: of the first window, and later those
/// that are not on the path.
double waiting_fetches(const perf::PerfConfig& config, const Quantities& given) noexcept;

}  // namespace lw::gen::planning
