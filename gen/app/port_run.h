// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/writer.h"
#include "gen/app/receiver.h"
#include "gen/stats/run_stats.h"
#include "gen/tx/ports.h"
#include "nic/stamp_clock.h"

namespace lw::gen {

/// Parameters of a run through ports. The referenced objects must outlive the run.
struct PortRun {
  const config::FlowProfile& profile;
  std::span<nic::Port> ports;  // flow i goes to port i modulo the ports
  SendBuffers& buffers;
  const Limits& limits;
  capture::Writer* copy = nullptr;    // gets each frame that a port took; may be null
  std::optional<std::uint64_t> seed;  // replaces the profile's
  std::uint16_t cores = 1;  // lcores, and send queues per port; flow i: core i modulo cores
  const nic::StampClock* clock = nullptr;  // of signatures; null: the machine's steady clock
  std::optional<Instant> start = {};       // when due times begin; none: at once
};

/// Sends a profile's frames through ports in real time. Each frame is sent when it is due, or as
/// soon afterwards as the port takes it. Frames that a port doesn't take within TxBurst's timeout
/// are counted as not sent. `background` works between bursts. The run ends early if a port's
/// interface disappears. Errors: of the copy, of the background tasks.
Result<RunReport> run_through_ports(const PortRun& run, BackgroundTasks& background);

}  // namespace lw::gen
