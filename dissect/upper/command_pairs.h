// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "analysis/analyst.h"
#include "dissect/upper/command_reader.h"

namespace lw::dissect {

/// Joins the rows of commands that several points saw: the row of the point nearest to the host
/// stays, and takes from the point nearest to the target how long the target took. The clocks of
/// the points need not agree, as only times of one point are subtracted from each other. Returns
/// the connections whose commands were joined to those of others.
std::set<std::uint32_t> join_points(FoundCommands& commands, const analysis::Analyst& analyst);

}  // namespace lw::dissect
