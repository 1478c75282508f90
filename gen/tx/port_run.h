// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/writer.h"
#include "gen/app/run_companion.h"
#include "gen/report/run_report.h"
#include "gen/stats/limits.h"
#include "gen/tx/ports.h"

namespace lw::gen {

/// What a run through ports sends, and where. All but the numbers outlive the run.
struct PortRun {
  const config::FlowProfile& profile;
  std::span<nic::Port> ports;  // flow i goes to port i modulo the ports
  SendBuffers& buffers;
  const Limits& limits;
  capture::Writer* copy = nullptr;    // gets each frame that a port took
  std::optional<std::uint64_t> seed;  // in place of the profile's
  std::uint16_t cores = 1;  // flow i is core i's modulo the cores; as many lcores and send queues
};

/// Sends a profile's frames through ports in real time: each when it is due, or as soon after as
/// the port takes it. Frames that a port will not take for a while are given up and counted.
/// `companion` gets its turn whenever the loop goes round.
/// Signatures carry the machine's steady clock. Errors: the copy's, the companion's.
Result<RunReport> run_through_ports(const PortRun& run, RunCompanion& companion);

}  // namespace lw::gen
