// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "gen/network/network_file.h"

namespace lw::gen {

/// The links of a network by rate and delay, and for each kind of link of a switch with PFC the
/// terms of its headroom. `perf`: the QPs' MTU and the NICs' latency.
std::string describe_network(const NetworkFile& file, const perf::PerfConfig& perf);

}  // namespace lw::gen
