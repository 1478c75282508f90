// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "gen/otg/plan.h"

namespace lw::gen::otg {

/// Resolves flows of packets, and adds their names to the plan, whose ports and hosts are complete.
/// `pairs`: of the flows that there are already, see kMostPairs.
/// What does not fit together is added to `reader`'s problems, by its path; then the result and the
/// names are of no use.
std::vector<PlannedPackets> plan_packets(const std::vector<FlowMessage>& flows, LabPlan& plan,
                                         ModelReader& reader, std::size_t pairs = 0);
/// Pairs of a flow, for kMostPairs.
std::size_t pairs_of(const PlannedPackets& flow) noexcept;

}  // namespace lw::gen::otg
