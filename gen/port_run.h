// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/writer.h"
#include "gen/limits.h"
#include "gen/ports.h"
#include "gen/run_companion.h"
#include "gen/run_report.h"
#include "gen/scheduler.h"

namespace lw::gen {

/// Sends a profile's frames through ports in real time: each when it is due, or as soon after as
/// the port takes it; flow i goes to port i modulo the ports. Frames that a port will not take
/// for a while are given up and counted. `copy`, where there is one, gets each frame that a port
/// took, with the wall clock's time just before.
/// `companion` gets its turn whenever the loop goes round.
/// Signatures carry the machine's steady clock. Errors: the copy's, the companion's.
Result<RunReport> run_through_ports(const profile::FlowProfile& profile, Scheduler& scheduler,
                                    std::span<nic::Port> ports, const nic::Pool& pool,
                                    capture::Writer* copy, RunCompanion& companion,
                                    const Limits& limits);

}  // namespace lw::gen
