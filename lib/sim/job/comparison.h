// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "sim/network/topology.h"

namespace lw::sim {

/// The network without distance: cables of 1 km and more have no delay. What a job takes there is
/// what it would take in one site with the same switches and rates.
Topology in_one_site(Topology topology);

/// One switch that joins all hosts at their rates, without delay and with a buffer of 256 MiB: what
/// a job takes there are its computing, its overheads and its bytes.
Topology ideal_network(const Topology& topology);

}  // namespace lw::sim
