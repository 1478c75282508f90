// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <vector>

#include "gen/otg/host.h"
#include "gen/otg/metrics.h"
#include "gen/otg/packet_flow.h"
#include "gen/otg/plan.h"
#include "gen/otg/port_hub.h"
#include "gen/otg/qp_run.h"
#include "gen/tx/ports.h"
#include "nic/stamp_clock.h"

namespace lw::gen::otg {

/// A port's counters half a second ago, and its rates since.
struct PortRates {
  PortCounts before;
  PortMetric rates;
  bool link = false;
  bool begun = false;  // the port has had its link: see nic::Port::wait_link()
  std::int64_t changed_ns = 0;
};

/// What a configuration consists of while it runs; ports, hosts and QPs by their index in the plan.
struct LabParts {
  LabPlan plan;
  Ports ports;
  nic::StampClock clock = {};
  std::vector<std::unique_ptr<PortHub>> hubs = {};
  std::vector<std::unique_ptr<QpRun>> runs = {};
  std::vector<std::unique_ptr<LabHost>> hosts = {};
  std::unique_ptr<PacketFlows> packets = {};
  std::vector<PortRates> samples = {};

  /// Line rate in bit/s; 0: unknown.
  [[nodiscard]] double line_bps(std::size_t port) const {
    const auto& known = plan.ports[port].line_bps;
    return known ? *known : ports.all()[port].link_bps().value_or(0);
  }
};

}  // namespace lw::gen::otg
