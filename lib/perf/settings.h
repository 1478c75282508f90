// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "core/figure.h"

/// Settings of a run: rows of PerfConfig, of which options and figures of results are made.
namespace lw::perf {

/// QPs, their windows, acknowledgements and timeouts, over a port and simulated.
const FigureTable& qp_settings();
/// The NICs of a simulation.
const FigureTable& nic_settings();
/// The windows among qp_settings() that are a NIC's, for its profile.
const FigureTable& nic_windows();
/// The receives of a simulated responder.
const FigureTable& receive_settings();

/// All settings that a result shows, over a port and simulated: those of QPs too.
const FigureTable& run_settings();
/// All further settings that the result of a simulation shows: those above, and the path.
const FigureTable& simulated_settings();

}  // namespace lw::perf
