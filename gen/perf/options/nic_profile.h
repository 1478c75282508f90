// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "core/error.h"
#include "perf/config.h"

namespace lw::gen {

/// Sets what a profile of a NIC says, its windows and DCQCN included: a path, or the name of one of
/// profiles/nics. A setting that has another value than its default already keeps it: an option
/// gave it. Errors: those of the profile.
Result<void> apply_nic_profile(const std::string& name, perf::PerfConfig& config);

}  // namespace lw::gen
