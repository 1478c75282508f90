// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "gen/otg/plan.h"

namespace lw::gen::otg {

/// Resolves flows of packets, and adds their names to the plan, whose ports and hosts are complete.
/// What does not fit together is added to `reader`'s problems, by its path; then the result and the
/// names are of no use.
std::vector<PlannedPackets> plan_packets(const std::vector<FlowMessage>& flows, LabPlan& plan,
                                         ModelReader& reader);

}  // namespace lw::gen::otg
