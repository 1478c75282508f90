// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "impair/datapath/equipment.h"
#include "impair/report/report.h"

namespace lw::impair {

/// What both ports' devices have counted.
std::vector<PortReport> port_reports(const Equipment& equipment);

}  // namespace lw::impair
