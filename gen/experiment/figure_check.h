// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "gen/experiment/results.h"

namespace lw::gen::experiment {

/// Checks that the tables, plots and comparisons of an experiment name figures or parameters that
/// its runs have. Error (usage): one does not exist, with its position and the nearest name.
Result<void> check_figures(const config::ExperimentProfile& profile, const Changes& changes);

}  // namespace lw::gen::experiment
