// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "config/flow/profile.h"
#include "gen/perf/session/handover_link.h"
#include "gen/stats/run_stats.h"

namespace lw::gen {

/// The QPs of an RDMA device as the destination of a profile's flows: `roce-endpoint serve` there
/// creates one for each flow and hands them over by TCP. The flows keep no state: acknowledgements
/// of the device are ignored, and nothing is sent again.
class DeviceFlows {
 public:
  /// Connects to `where` (HOST:PORT) and sets each flow's destination: address, QPN, Q_Key, memory
  /// address and R_Key; the MAC address is to be resolved. `seed` is that of the payloads.
  /// `meanwhile` answers ARP. Errors: the flows have several transports or operations, or one that
  /// a device has no QPs for, or are not RoCEv2 (usage); the peer refuses (failed); there is no
  /// server at `where` (environment).
  static Result<DeviceFlows> open(const std::string& where, const std::string& token,
                                  config::FlowProfile& profile, std::uint64_t seed,
                                  const std::atomic<bool>& stop,
                                  const handover::Meanwhile& meanwhile);

  /// Sends the counters of the run to the device's side, and waits for its report.
  Result<handover::Report> finish(const RunReport& sent, const std::atomic<bool>& stop,
                                  const handover::Meanwhile& meanwhile);

 private:
  explicit DeviceFlows(handover::Client client) : client_(std::move(client)) {}
  handover::Client client_;
  std::vector<bool> signed_;  // true if the flow's frames have signatures
};

}  // namespace lw::gen
