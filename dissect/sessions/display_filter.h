// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "analysis/analyst.h"

namespace lw::dissect {

/// A display filter of Wireshark that shows the packets of an anomaly: those of its connection with
/// its PSNs, both ways; where PSNs do not tell it, its frames.
std::string display_filter(const analysis::Anomaly& anomaly, const analysis::Analyst& analyst);

}  // namespace lw::dissect
