// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "gen/otg/plan.h"
#include "gen/otg/plan_names.h"

namespace lw::gen::otg {

/// Resolves the flows of packets, and adds them to `plan`, whose ports and hosts are complete, and
/// to `names`. What does not fit together is added to `reader`'s problems, by its path.
void plan_packets(const std::vector<FlowMessage>& flows, PlanNames& names, LabPlan& plan,
                  ModelReader& reader);

}  // namespace lw::gen::otg
